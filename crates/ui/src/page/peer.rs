//! The user at the other end of a connection, as the kernel reports it: a loopback address is open to all users of a
//! machine, and a page is for one of them.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// The table of sockets (proc_pid_net(5)).
const TABLE: &str = "/proc/self/net/tcp";

/// Returns true if the peer belongs to this user or to root, or if the kernel does not tell.
pub(super) fn is_own_user(peer: SocketAddr, here: SocketAddr) -> bool {
    let (SocketAddr::V4(peer), SocketAddr::V4(here)) = (peer, here) else { return false };
    match std::fs::read_to_string(TABLE) {
        Ok(table) => {
            owner(&table, peer, here).is_some_and(|owner| owner == 0 || owner == rustix::process::getuid().as_raw())
        }
        // The cookie decides alone.
        Err(_) => true,
    }
}

/// Returns the user id of the socket with this address that is connected to the other address.
fn owner(table: &str, of: SocketAddrV4, to: SocketAddrV4) -> Option<u32> {
    let (of, to) = (in_table(of), in_table(to));
    table.lines().find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let is_socket = columns.next() == Some(&*of) && columns.next() == Some(&*to);
        // Skipped: state, queues, timer, retransmissions.
        if is_socket { columns.nth(4)?.parse().ok() } else { None }
    })
}

fn in_table(address: SocketAddrV4) -> String {
    let number = |address: &Ipv4Addr| u32::from_ne_bytes(address.octets());
    format!("{:08X}:{:04X}", number(address.ip()), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_names_the_owner_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_stream, peer) = listener.accept().unwrap();
        let here = listener.local_addr().unwrap();
        assert!(is_own_user(peer, here));
        let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
        assert!(!is_own_user(nobody, here));
        let SocketAddr::V4(peer) = peer else { panic!("an address of version 4") };
        let SocketAddr::V4(here) = here else { panic!("an address of version 4") };
        let table = format!(
            "  0: {} {} 01 00000000:00000000 00:00000000 00000000  4711 0 1 1\n",
            in_table(peer),
            in_table(here)
        );
        assert_eq!(owner(&table, peer, here), Some(4711));
        assert_eq!(owner(&table, here, peer), None);
    }
}
