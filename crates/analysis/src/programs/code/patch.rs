//! `patch` and `apply_patch`: they change what their input says.

use crate::patch::FileChange;
use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth};
use crate::value::Argument;

pub(super) fn run(call: &mut Call<'_, '_>) {
    call.by_file();
    if !call.parsed.is_set("dry-run") && !call.parsed.ends {
        call.interpreter.unsure_files("which files a patch changes is not known");
        call.interpreter.unsure(Aspect::Reads, "which files a patch changes is not known");
    }
}

/// `apply_patch`, with the patch as its argument or its input.
pub(super) fn apply(call: &mut Call<'_, '_>) {
    let text = match call.parsed.operands.as_slice() {
        [only] => only.text().map(str::to_owned),
        [] => call.interpreter.input(call.io).map(str::to_owned),
        _ => None,
    };
    let Some(changes) = text.and_then(|text| crate::patch::parse(&text).ok()) else {
        return call.interpreter.unsure_files("the patch is not understood");
    };
    for change in changes {
        let path = Argument::known(change.path());
        match change {
            FileChange::Add { .. } | FileChange::Update { moved_to: None, .. } => {
                call.touch(Access::Write, &path, Depth::Itself);
            }
            FileChange::Delete { .. } => call.touch(Access::Delete, &path, Depth::Itself),
            FileChange::Update { moved_to: Some(to), .. } => {
                call.touch(Access::Delete, &path, Depth::Itself);
                call.touch(Access::Write, &Argument::known(to.as_str()), Depth::Itself);
            }
        }
    }
}
