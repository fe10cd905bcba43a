//! The filter of system calls inside a confinement.
//!
//! It refuses new namespaces and mounts, sockets that lead out of the network namespace, and interfaces of the kernel
//! that a command has no use for. It is written as BPF instructions because the field's crate compares whole numbers
//! only: it could not refuse the calls of the x32 interface, which are the same calls under other numbers.

use libc::{c_int, c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;
/// Calls of the x32 interface have this bit.
const X32_SYSCALL_BIT: u32 = 0x4000_0000;

/// Whether the filtered processes may create UNIX sockets, with which they could reach any service of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnixSockets {
    /// Only connected pairs, whose both ends are inside.
    PairsOnly,
    /// Any.
    Allowed,
}

const NAMESPACE_FLAGS: c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Calls that are refused whatever their arguments.
const REFUSED_CALLS: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// The bits of a socket's type; the others are flags.
const SOCKET_TYPE_MASK: u32 = 0xF;
/// The old type of raw sockets.
const SOCK_PACKET: u32 = 10;
/// `open_tree_attr` (Linux 6.15), which the libc crate does not name on all targets.
const SYS_OPEN_TREE_ATTR: c_long = 467;

/// Returns the instructions of the filter.
pub(super) fn syscall_filter(unix_sockets: UnixSockets) -> Vec<sock_filter> {
    let mut filter = FilterBuilder::default();
    filter.load(ARCH_OFFSET);
    filter.return_unless_equal(AUDIT_ARCH, libc::SECCOMP_RET_KILL_PROCESS);
    filter.load(NUMBER_OFFSET);
    if cfg!(target_arch = "x86_64") {
        filter.return_if_at_least(X32_SYSCALL_BIT, errno(libc::ENOSYS));
    }
    for call in REFUSED_CALLS.iter().copied().chain([SYS_OPEN_TREE_ATTR]) {
        filter.return_if_equal(number(call), errno(libc::EPERM));
    }
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib, libc::SYS_lookup_dcookie, libc::SYS_nfsservctl] {
        filter.return_if_equal(number(call), errno(libc::EPERM));
    }
    // Its flags are in memory, where a filter cannot look. The C library falls back to `clone`.
    filter.return_if_equal(number(libc::SYS_clone3), errno(libc::ENOSYS));
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        filter.for_call(call, |inner| {
            inner.load_argument(0);
            inner.return_if_any_bit(NAMESPACE_FLAGS.cast_unsigned(), errno(libc::EPERM));
            inner.allow();
        });
    }
    filter.for_call(libc::SYS_ioctl, |inner| {
        inner.load_argument(1);
        for request in [libc::TIOCSTI, libc::TIOCLINUX] {
            inner.return_if_equal(number(request as c_long), errno(libc::EPERM));
        }
        inner.allow();
    });
    filter.for_call(libc::SYS_socketpair, |inner| {
        inner.load_argument(0);
        inner.return_unless_equal(libc::AF_UNIX.cast_unsigned(), errno(libc::EAFNOSUPPORT));
        if unix_sockets == UnixSockets::PairsOnly {
            filter_pairs(inner);
        }
        inner.allow();
    });
    filter.for_call(libc::SYS_socket, |inner| filter_sockets(inner, unix_sockets));
    filter.allow();
    filter.instructions
}

/// Refuses pairs of datagram sockets, with which any socket of the file system can be written to: only those of the other
/// types stay connected to each other.
fn filter_pairs(filter: &mut FilterBuilder) {
    filter.load_argument(1);
    filter.mask(SOCKET_TYPE_MASK);
    filter.return_if_equal(libc::SOCK_STREAM.cast_unsigned(), libc::SECCOMP_RET_ALLOW);
    filter.return_unless_equal(libc::SOCK_SEQPACKET.cast_unsigned(), errno(libc::EACCES));
}

fn filter_sockets(filter: &mut FilterBuilder, unix_sockets: UnixSockets) {
    filter.load_argument(0);
    let unix = match unix_sockets {
        UnixSockets::PairsOnly => errno(libc::EACCES),
        UnixSockets::Allowed => libc::SECCOMP_RET_ALLOW,
    };
    filter.return_if_equal(libc::AF_UNIX.cast_unsigned(), unix);
    for family in [libc::AF_INET, libc::AF_INET6] {
        filter.if_equal(family.cast_unsigned(), |inner| {
            inner.load_argument(1);
            inner.mask(SOCKET_TYPE_MASK);
            inner.return_if_equal(libc::SOCK_RAW.cast_unsigned(), errno(libc::EPERM));
            inner.return_if_equal(SOCK_PACKET, errno(libc::EPERM));
            inner.allow();
        });
    }
    // The C library lists the interfaces of the own namespace by it.
    filter.if_equal(libc::AF_NETLINK.cast_unsigned(), |inner| {
        inner.load_argument(2);
        inner.return_unless_equal(libc::NETLINK_ROUTE.cast_unsigned(), errno(libc::EAFNOSUPPORT));
        inner.allow();
    });
    filter.push_return(errno(libc::EAFNOSUPPORT));
}

const NUMBER_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

fn errno(code: c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | code.cast_unsigned()
}

/// Returns the low half of a number, which is what the kernel compares for calls, families and requests.
fn number(value: c_long) -> u32 {
    (value & 0xFFFF_FFFF) as u32
}

#[derive(Default)]
struct FilterBuilder {
    instructions: Vec<sock_filter>,
}

impl FilterBuilder {
    fn load(&mut self, offset: u32) {
        self.push(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    }

    /// Loads the low half of an argument; all arguments that are looked at are ints.
    fn load_argument(&mut self, index: u32) {
        self.load(ARGUMENTS_OFFSET + 8 * index);
    }

    fn mask(&mut self, bits: u32) {
        self.push(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, bits);
    }

    fn push_return(&mut self, action: u32) {
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, action);
    }

    fn allow(&mut self) {
        self.push_return(libc::SECCOMP_RET_ALLOW);
    }

    fn return_if_equal(&mut self, value: u32, action: u32) {
        self.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, value);
        self.push_return(action);
    }

    fn return_unless_equal(&mut self, value: u32, action: u32) {
        self.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, value);
        self.push_return(action);
    }

    fn return_if_at_least(&mut self, value: u32, action: u32) {
        self.push(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, value);
        self.push_return(action);
    }

    fn return_if_any_bit(&mut self, bits: u32, action: u32) {
        self.push(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 0, 1, bits);
        self.push_return(action);
    }

    /// Adds instructions for one call; they must return in every case.
    fn for_call(&mut self, call: c_long, body: impl FnOnce(&mut FilterBuilder)) {
        self.if_equal(number(call), body);
    }

    /// Adds instructions for one value of what is loaded; they must return in every case.
    fn if_equal(&mut self, value: u32, body: impl FnOnce(&mut FilterBuilder)) {
        let mut inner = FilterBuilder::default();
        body(&mut inner);
        // The bodies above are a few instructions long; a jump takes 255.
        let skip = u8::try_from(inner.instructions.len()).unwrap_or(u8::MAX);
        self.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, skip, value);
        self.instructions.append(&mut inner.instructions);
    }

    fn push(&mut self, code: u32, jump_true: u8, jump_false: u8, operand: u32) {
        self.instructions.push(sock_filter { code: code as u16, jt: jump_true, jf: jump_false, k: operand });
    }
}
