//! Decides which network addresses and host names are public. It neither resolves nor connects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address is of this machine, of a private network, or of no host at all.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0 // this network
        || a >= 240 // reserved
        || (a == 100 && (64..128).contains(&b)) // carrier-grade NAT
        || (a == 198 && (b == 18 || b == 19)) // benchmarks
        || (a == 192 && b == 0 && c == 0) // protocol assignments
        || (a == 192 && b == 88 && c == 99) // former 6to4 relays
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded_v4(address) {
        return is_private_v4(inner);
    }
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is assigned globally, except for documentation, tunnels with hidden endpoints and the like.
    (first & 0xE000) != 0x2000 || (first == 0x2001 && (second == 0x0DB8 || second < 0x0200)) || first == 0x3FFF
}

/// Returns the IPv4 address embedded in an IPv6 address: mapped, compatible, translated or tunnelled.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([w, x], [y, z]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(w, x, y, z))
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xFFFF | 0) | (0x64, 0xFF9B, 0, 0, 0, 0) | (0, 0, 0, 0, 0xFFFF, 0) => v4(g, h),
        (0x2002, ..) => v4(b, c),
        _ => None,
    }
}

/// Returns whether a host name belongs by convention to this machine or the local network, whatever it resolves to.
pub(crate) fn is_private_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost"
        || [".localhost", ".local", ".internal", ".lan", ".home.arpa"].iter().any(|suffix| host.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_in_all_disguises() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "100::1",
            "3fff::1",
        ] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn public_addresses() {
        for text in [
            "8.8.8.8",
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "192.169.0.1",
            "2606:4700::1111",
            "2a00:1450::200e",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2001:4860:4860::8888",
        ] {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn local_names() {
        for name in ["localhost", "LOCALHOST.", "a.localhost", "printer.local", "metadata.google.internal"] {
            assert!(is_private_name(name), "{name}");
        }
        for name in ["example.com", "local.example.com", "localhost.example.com", "internal"] {
            assert!(!is_private_name(name), "{name}");
        }
    }
}
