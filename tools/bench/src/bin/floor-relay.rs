//! The floor for a front-end: two threads that copy bytes between standard streams and a Unix socket.

use std::io::{Read, Result, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| std::io::Error::other("usage: floor-relay SOCKET"))?;
    let socket = UnixStream::connect(path)?;
    let back = socket.try_clone()?;
    let down = std::thread::spawn(move || copy(back, std::io::stdout().lock()));
    copy(std::io::stdin().lock(), &socket)?;
    socket.shutdown(Shutdown::Write)?;
    down.join().unwrap_or_else(|_| Err(std::io::Error::other("the copying thread panicked")))
}

fn copy(mut from: impl Read, mut to: impl Write) -> Result<()> {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..count])?;
        to.flush()?;
    }
}
