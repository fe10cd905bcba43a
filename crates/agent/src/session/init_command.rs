//! `/init`: has the model describe the project in a context file.

use super::actor::SessionActor;
use super::reply::Reply;
use crate::event::SessionEvent;

const CONTEXT_FILE_NAME: &str = "GEMINI.md";

const INIT_PROMPT: &str = "Look at this project and write a GEMINI.md in its root folder: notes for an assistant that will work \
here and knows nothing of it yet. First list the root folder, read the README and what describes the build, and look at a \
few files that show how things are done. Then write the file with write_file. Say in it, briefly and only where you have \
seen it: what the project is for and how it is laid out; the commands that build, run, check and test it, one test alone \
too; the conventions that its code, its tests and its commits follow; what is easily done wrong. Invent nothing, leave out \
what every project has in common, and keep it to about a page.";

impl SessionActor {
    /// `/init`: has the model write notes on the project, with the usual tools and approvals.
    pub(super) fn handle_init(&mut self) {
        let file = self.shared.view().loaded.project.root.join(CONTEXT_FILE_NAME);
        if file.symlink_metadata().is_ok_and(|found| found.len() > 0) {
            self.send_event(SessionEvent::InputStarted("/init".to_owned()));
            let text = format!("there is a {CONTEXT_FILE_NAME} already; ask for changes to it, or remove it first");
            self.reply(Reply::warning(text));
            return self.send_idle();
        }
        self.enqueue_prompt(INIT_PROMPT.to_owned(), "/init".to_owned());
    }
}
