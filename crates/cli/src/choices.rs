//! What a user can answer where a call is asked about, in one order and with one set of numbers, on the screen and in lines.

use hookwright_agent::ApprovalRequest;

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Once,
    Session,
    Server,
    Edit,
    Deny,
    Cancel,
}

impl Choice {
    const ALL: [Choice; 6] =
        [Choice::Once, Choice::Session, Choice::Server, Choice::Edit, Choice::Deny, Choice::Cancel];

    /// Those of a request, in the order of their numbers; a guard is asked about every time.
    pub(crate) fn of(request: &ApprovalRequest) -> Vec<Choice> {
        let offered = |choice: &Choice| match choice {
            Choice::Session => request.protected.is_none(),
            Choice::Server => request.protected.is_none() && request.server.is_some(),
            _ => true,
        };
        Choice::ALL.into_iter().filter(offered).collect()
    }
}
