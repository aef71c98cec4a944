//! The user at the other end of a connection, as the kernel reports it: a loopback address is open to all users of a
//! machine, and a page is for one of them.

use std::net::{SocketAddr, SocketAddrV4};

/// The tables of sockets (proc_pid_net(5)). A program may reach an address of version 4 by a socket of version 6.
const TABLES: [(&str, &str); 2] = [("/proc/self/net/tcp", ""), ("/proc/self/net/tcp6", "0000000000000000FFFF0000")];

/// Returns true if the peer belongs to this user or to root, or if the kernel does not tell.
pub(super) fn is_own_user(peer: SocketAddr, here: SocketAddr) -> bool {
    let (SocketAddr::V4(peer), SocketAddr::V4(here)) = (peer, here) else { return false };
    let tables: Vec<(String, &str)> =
        TABLES.iter().filter_map(|(table, prefix)| Some((std::fs::read_to_string(table).ok()?, *prefix))).collect();
    let owner = tables.iter().find_map(|(table, prefix)| owner(table, prefix, peer, here));
    // Without tables, the cookie decides alone.
    tables.is_empty() || owner.is_some_and(|owner| owner == 0 || owner == rustix::process::getuid().as_raw())
}

/// Returns the user id of the socket with this address that is connected to the other address.
fn owner(table: &str, prefix: &str, of: SocketAddrV4, to: SocketAddrV4) -> Option<u32> {
    let in_table = |address: SocketAddrV4| {
        let number = u32::from_ne_bytes(address.ip().octets());
        format!("{prefix}{number:08X}:{:04X}", address.port())
    };
    let (of, to) = (in_table(of), in_table(to));
    table.lines().find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let is_socket = columns.next() == Some(&*of) && columns.next() == Some(&*to);
        // Skipped: state, queues, timer, retransmissions.
        if is_socket { columns.nth(4)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_names_the_owner_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        // The second client has a socket of version 6.
        let mapped = SocketAddr::from((std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped(), here.port()));
        for address in [here, mapped] {
            let _client = TcpStream::connect(address).unwrap();
            let (_stream, peer) = listener.accept().unwrap();
            assert!(is_own_user(peer, here), "{address}");
        }
        assert!(!is_own_user(SocketAddr::from(([127, 0, 0, 1], 1)), here));
    }

    #[test]
    fn the_owner_is_of_the_other_end() {
        let [of, to] = [4711, 80].map(|port| SocketAddrV4::new([127, 0, 0, 1].into(), port));
        let number = u32::from_ne_bytes([127, 0, 0, 1]);
        let table =
            format!("  0: {number:08X}:1267 {number:08X}:0050 01 00000000:00000000 00:00000000 00000000  501 0 1\n");
        assert_eq!(owner(&table, "", of, to), Some(501));
        assert_eq!(owner(&table, "", to, of), None);
        assert_eq!(owner(&table, "0000", of, to), None);
    }
}
