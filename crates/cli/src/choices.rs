//! What a user can answer where a call is asked about, in one order and with one set of numbers, on the screen and in lines.

use hookwright_agent::ApprovalRequest;

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalChoice {
    Once,
    Session,
    Server,
    Edit,
    Deny,
    Cancel,
}

impl ApprovalChoice {
    const ALL: [ApprovalChoice; 6] = [
        ApprovalChoice::Once,
        ApprovalChoice::Session,
        ApprovalChoice::Server,
        ApprovalChoice::Edit,
        ApprovalChoice::Deny,
        ApprovalChoice::Cancel,
    ];

    /// Those of a request, in the order of their numbers; a guard is asked about every time.
    pub(crate) fn for_request(request: &ApprovalRequest) -> Vec<ApprovalChoice> {
        let offered = |choice: &ApprovalChoice| match choice {
            ApprovalChoice::Session => request.protected_file.is_none(),
            ApprovalChoice::Server => request.protected_file.is_none() && request.server.is_some(),
            _ => true,
        };
        ApprovalChoice::ALL.into_iter().filter(offered).collect()
    }
}
