//! Sockets of services that do what they are told: through one, a command could have changed, read or reached what it
//! may not itself.

#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::ConfinementPlace;

/// Services that listen on sockets at well-known paths.
struct ServiceGroup {
    name: &'static str,
    /// The services of calls that use them, as `effects` names them.
    services: &'static [&'static str],
    /// Sockets, and folders that hold nothing else. `UID` stands for the number of the user; `*` at the end is any name.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "commands can be confined on Linux only"))]
    sockets: &'static [&'static str],
}

const SERVICE_GROUPS: [ServiceGroup; 5] = [
    ServiceGroup {
        name: "containers",
        services: &["docker"],
        sockets: &[
            "/run/docker.sock",
            "/run/containerd/containerd.sock",
            "/run/buildkit",
            "/run/crio/crio.sock",
            "/run/podman",
            "/run/user/UID/docker.sock",
            "/run/user/UID/podman",
            "/run/user/UID/containerd",
            "/run/user/UID/buildkit",
            "~/.docker/run",
            "~/.docker/desktop/docker.sock",
            "~/.colima/default/docker.sock",
            "~/.colima/docker.sock",
            "~/.rd/docker.sock",
            "~/.orbstack/run",
        ],
    },
    ServiceGroup {
        name: "machines",
        services: &["vm"],
        sockets: &[
            "/run/libvirt",
            "/run/user/UID/libvirt",
            "/var/lib/lxd/unix.socket",
            "/var/snap/lxd/common/lxd/unix.socket",
            "/var/lib/incus/unix.socket",
        ],
    },
    ServiceGroup {
        name: "system",
        services: &["systemd", "system", "schedules", "packages", "snapcraft", "network-settings", "desktop"],
        sockets: &[
            "/run/dbus/system_bus_socket",
            "/run/systemd/private",
            "/run/snapd.socket",
            "/run/snapd-snap.socket",
            "/run/user/UID/bus",
            "/run/user/UID/dbus-1",
            "/run/user/UID/systemd",
        ],
    },
    ServiceGroup {
        name: "desktop",
        services: &["desktop"],
        sockets: &["/tmp/.X11-unix", "/run/user/UID/wayland-*", "/run/user/UID/pulse", "/run/user/UID/at-spi"],
    },
    ServiceGroup {
        name: "terminals",
        services: &["tmux"],
        sockets: &["/tmp/tmux-UID", "/run/screen", "/tmp/emacsUID", "/run/user/UID/emacs"],
    },
];

/// Returns the groups of which a call with these services uses none.
pub(crate) fn unused_groups(services: &[String]) -> Vec<String> {
    let is_used = |group: &ServiceGroup| {
        let mut used = services.iter().map(|service| service.split(':').next().unwrap_or_default());
        used.any(|service| group.services.contains(&service))
    };
    SERVICE_GROUPS.iter().filter(|group| !is_used(group)).map(|group| group.name.to_owned()).collect()
}

/// Returns the sockets of a group that exist.
///
/// # Errors
/// If there is no such group, with those that there are.
#[cfg(target_os = "linux")]
pub(super) fn existing_sockets(name: &str, place: ConfinementPlace<'_>) -> Result<Vec<PathBuf>, String> {
    let group = SERVICE_GROUPS.iter().find(|group| group.name == name).ok_or_else(|| {
        let names = SERVICE_GROUPS.map(|group| group.name).join(", ");
        format!("there are no such services; there are {names}")
    })?;
    let user = rustix::process::geteuid().as_raw().to_string();
    let paths = group.sockets.iter().filter_map(|text| match text.strip_prefix("~/") {
        Some(inside) => Some(place.home?.join(inside)),
        None => Some(PathBuf::from(text.replace("UID", &user))),
    });
    Ok(paths.flat_map(|path| expand_star(&path)).filter_map(|path| path.canonicalize().ok()).collect())
}

/// Returns the files of a folder that begin with a name, if `*` follows the name.
#[cfg(target_os = "linux")]
fn expand_star(path: &Path) -> Vec<PathBuf> {
    let prefix = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix('*'));
    let (Some(prefix), Some(folder)) = (prefix, path.parent()) else { return vec![path.to_owned()] };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_a_call_uses_stay_open() {
        let unused = |services: &[&str]| unused_groups(&services.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        assert_eq!(unused(&[]).len(), SERVICE_GROUPS.len());
        assert!(!unused(&["docker:read", "github:read"]).contains(&"containers".to_owned()));
        assert_eq!(unused(&["desktop:write"]), ["containers", "machines", "terminals"]);
    }

    #[test]
    fn every_service_exists() {
        for service in SERVICE_GROUPS.iter().flat_map(|group| group.services) {
            assert!(hookwright_analysis::programs::services().iter().any(|known| known.name == *service), "{service}");
        }
    }
}
