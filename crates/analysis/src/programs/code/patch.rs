//! `patch`: it changes what its input says.

use crate::programs::call::Call;

pub(super) fn run(call: &mut Call<'_, '_>) {
    call.by_file();
    if !call.parsed.is_set("dry-run") && !call.parsed.has("--dry-run") {
        call.interpreter.unsure_files("which files a patch changes is not known");
    }
}
