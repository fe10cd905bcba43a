//! `/permissions`: lists and withdraws what the user has allowed permanently or for this session.

use hookwright_settings::administration::{NamedItem, UnknownName};

use super::actor::SessionActor;
use super::command::PermissionsAction;
use super::reply::Reply;
use crate::policy::{PolicyRule, RememberedRules};

impl SessionActor {
    pub(super) fn handle_permissions(&mut self, order: &PermissionsAction) {
        let services = self.services();
        let Some(memory) = services.approvals.remembered_rules() else { return };
        let forget = |which| services.change_remembered_rules(&memory, || memory.remove_rules(which));
        let forgotten = match order {
            PermissionsAction::List => return self.list_permissions(&memory),
            PermissionsAction::ForgetAll => {
                services.approvals.clear_session_grants();
                forget(None).map(|_| "from now on only policies and settings allow anything".to_owned())
            }
            PermissionsAction::Forget(number) => match (number.checked_sub(1), memory.rules()) {
                (_, Err(error)) => Err(error),
                (Some(at), Ok(rules)) if at < rules.len() => {
                    let words = rule_text(&rules[at], &memory);
                    forget(Some(at)).map(|_| format!("not allowed any more: {words}"))
                }
                _ => {
                    let unknown = UnknownName::new(NamedItem::Permission, &number.to_string(), std::iter::empty());
                    return self.reply(Reply::Unknown(unknown));
                }
            },
        };
        match forgotten {
            Ok(words) => {
                self.reload_policies(&self.shared.view().loaded.clone());
                self.reply(Reply::plain(words));
            }
            Err(error) => self.reply(Reply::error(error)),
        }
    }

    fn list_permissions(&self, memory: &RememberedRules) {
        let rules = match memory.rules() {
            Ok(rules) => rules,
            Err(error) => return self.reply(Reply::error(error)),
        };
        let granted = self.services().approvals.session_grants();
        if rules.is_empty() && granted.is_empty() {
            return self.reply(Reply::aside("you have allowed nothing; only policies and settings allow anything"));
        }
        let always = rules.iter().enumerate().map(|(at, rule)| (format!("{}", at + 1), rule_text(rule, memory)));
        let session = granted.into_iter().map(|words| ("session".to_owned(), words));
        self.reply(Reply::Rows(always.chain(session).collect()));
        self.reply(Reply::aside(format!(
            "/permissions forget NUMBER takes one back; they are in {}",
            memory.file.display()
        )));
    }
}

/// Describes a rule, by its name if it has one.
fn rule_text(rule: &PolicyRule, memory: &RememberedRules) -> String {
    let words = rule.name.clone().unwrap_or_else(|| match rule.prefixes.as_slice() {
        [] => rule.tools.join(", "),
        prefixes => format!("commands that begin with {}", prefixes.join(", ")),
    });
    match &rule.project {
        Some(project) if *project == memory.project => words,
        Some(project) => format!("{words}, in {}", project.display()),
        None => format!("{words}, everywhere"),
    }
}
