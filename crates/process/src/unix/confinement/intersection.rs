//! The intersection of two plans: what both of them allow.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ConfinementLimits, ConfinementPlan, NetworkAccess, UnixSockets};

impl ConfinementPlan {
    /// Returns the plan that allows what this one and the other one both allow.
    #[must_use]
    pub fn intersect(mut self, other: ConfinementPlan) -> ConfinementPlan {
        self.protected.extend(other.protected);
        self.hidden.extend(other.hidden);
        self.visible.extend(other.visible);
        self.ignore_files.extend(other.ignore_files);
        self.ignore_files.dedup();
        for paths in [&mut self.hidden, &mut self.visible] {
            paths.sort();
            paths.dedup();
        }
        // What lies in a hidden folder is hidden with it, and can't be covered a second time.
        let all = self.hidden.clone();
        self.hidden.retain(|path| !all.iter().any(|above| path != above && path.starts_with(above)));
        self.protected.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.protected.dedup_by(|(one, _), (other, _)| one == other);
        let is_protected = |path: &Path| self.protected.iter().any(|(above, _)| path.starts_with(above));
        let mut writable = common_trees(&self.writable, &other.writable);
        writable.retain(|path| !is_protected(path));
        self.removable = match (self.removable, other.removable) {
            (Some(ours), Some(theirs)) => Some(common_trees(&ours, &theirs)),
            (one, other) => one.or(other),
        };
        self.removable = self.removable.map(|removable| common_trees(&removable, &writable));
        self.writable = writable;
        self.network = self.network.intersect(other.network);
        let is_open = |sockets: Option<UnixSockets>| sockets == Some(UnixSockets::Allowed);
        let are_open = is_open(self.unix_sockets) && is_open(other.unix_sockets);
        self.unix_sockets = Some(if are_open { UnixSockets::Allowed } else { UnixSockets::PairsOnly });
        self.limits = ConfinementLimits {
            memory_bytes: smaller(self.limits.memory_bytes, other.limits.memory_bytes),
            max_processes: smaller(self.limits.max_processes, other.limits.max_processes),
            timeout: smaller::<Duration>(self.limits.timeout, other.limits.timeout),
        };
        self
    }
}

impl NetworkAccess {
    fn intersect(self, other: NetworkAccess) -> NetworkAccess {
        use NetworkAccess::{All, Hosts, Loopback, None};

        match (self, other) {
            (None, _) | (_, None) => None,
            (Loopback, _) | (_, Loopback) => Loopback,
            (All, rest) | (rest, All) => rest,
            (Hosts(ours), Hosts(theirs)) => {
                let mut both: Vec<_> =
                    ours.iter().filter(|host| theirs.iter().any(|other| other.covers(host))).collect();
                both.extend(theirs.iter().filter(|host| ours.iter().any(|other| other.covers(host))));
                let mut hosts = Vec::new();
                for host in both {
                    if !hosts.contains(host) {
                        hosts.push(host.clone());
                    }
                }
                // A proxy that lets nothing through.
                if hosts.is_empty() { Loopback } else { Hosts(hosts) }
            }
        }
    }
}

/// Returns the trees that lie in a tree of both lists.
fn common_trees(ours: &[PathBuf], theirs: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |path: &PathBuf, trees: &[PathBuf]| trees.iter().any(|tree| path.starts_with(tree));
    let mut common: Vec<PathBuf> = ours.iter().filter(|path| inside(path, theirs)).cloned().collect();
    common.extend(theirs.iter().filter(|path| inside(path, ours)).cloned());
    common.sort();
    common.dedup();
    common
}

fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confinement::PathKind;

    fn plan(writable: &[&str], protected: &[&str]) -> ConfinementPlan {
        ConfinementPlan {
            writable: writable.iter().map(PathBuf::from).collect(),
            protected: protected.iter().map(|path| (PathBuf::from(path), PathKind::Directory)).collect(),
            ..ConfinementPlan::default()
        }
    }

    fn hosts(names: &[&str]) -> NetworkAccess {
        NetworkAccess::Hosts(names.iter().map(|name| name.parse().unwrap()).collect())
    }

    #[test]
    fn only_what_both_may_change_may_be_changed() {
        let both = plan(&["/"], &[]).intersect(plan(&["/p", "/q/r"], &["/p/.git"]));
        assert_eq!(both.writable, [PathBuf::from("/p"), PathBuf::from("/q/r")]);
        assert_eq!(both.protected.len(), 1);
        assert!(plan(&["/a"], &[]).intersect(plan(&["/b"], &[])).writable.is_empty());
        // A writable folder inside a folder that the other plan protects.
        let both = plan(&["/p"], &["/p/.git"]).intersect(plan(&["/p/.git/x"], &[]));
        assert!(both.writable.is_empty());
    }

    #[test]
    fn removal_is_limited_by_either_plan() {
        let limited = ConfinementPlan { removable: Some(vec!["/p".into()]), ..plan(&["/"], &[]) };
        let both = limited.clone().intersect(plan(&["/p/src", "/q"], &[]));
        assert_eq!(both.removable, Some(vec![PathBuf::from("/p/src")]));
        assert_eq!(plan(&["/"], &[]).intersect(limited).removable, Some(vec![PathBuf::from("/p")]));
    }

    #[test]
    fn the_smaller_network_counts() {
        let both = hosts(&["*.example.com", "a.test"]).intersect(hosts(&["x.example.com", "b.test"]));
        assert_eq!(both, hosts(&["x.example.com"]));
        assert_eq!(hosts(&["a.test"]).intersect(hosts(&["b.test"])), NetworkAccess::Loopback);
        assert_eq!(NetworkAccess::All.intersect(hosts(&["a.test"])), hosts(&["a.test"]));
        assert_eq!(NetworkAccess::Loopback.intersect(NetworkAccess::None), NetworkAccess::None);
    }
}
