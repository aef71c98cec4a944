//! An SQLite VFS around the system's: it reports to a [`Disk`] all writes, truncations, syncs and removals in watched
//! folders. Syncs stop here, for speed. Locks, the index of the log and other files go to the system's VFS.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rusqlite::ffi::{
    SQLITE_FCNTL_PRAGMA, SQLITE_OK, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find,
    sqlite3_vfs_register,
};

use super::disk::{Disk, Event};

/// The disks of the watched folders.
static DISKS: Mutex<BTreeMap<PathBuf, Arc<Disk>>> = Mutex::new(BTreeMap::new());

/// The system's VFS and this one. Both stay registered until the process ends.
static SYSTEM: OnceLock<Registered> = OnceLock::new();

struct Registered {
    system: *mut sqlite3_vfs,
}

// SAFETY: SQLite itself uses a registered VFS from all threads, and no thread writes to it.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

/// An open file: this VFS's head, then the system's file, in the memory that SQLite allocates for both.
#[repr(C)]
struct OpenFile {
    base: sqlite3_file,
    /// Owned; freed when the file is closed.
    told: *mut RecordedFile,
}

/// The disk that records the file, and the file's name.
struct RecordedFile {
    disk: Arc<Disk>,
    path: PathBuf,
}

const HEAD: usize = size_of::<OpenFile>().next_multiple_of(16);

/// Records the files of the disk's folder that are opened from now on.
pub(super) fn watch(disk: &Arc<Disk>) {
    SYSTEM.get_or_init(register);
    DISKS.lock().insert(disk.folder.clone(), Arc::clone(disk));
}

/// No longer records files of the folder that are opened from now on.
pub(super) fn forget(folder: &Path) {
    DISKS.lock().remove(folder);
}

fn register() -> Registered {
    // SAFETY: a null name means the default VFS; SQLite initializes itself if necessary.
    let system = unsafe { sqlite3_vfs_find(std::ptr::null()) };
    assert!(!system.is_null(), "SQLite has no VFS");
    // SAFETY: a registered VFS is valid, and it is only copied.
    let system_vfs = unsafe { *system };
    let ours = sqlite3_vfs {
        szOsFile: system_vfs.szOsFile + HEAD as c_int,
        zName: c"told".as_ptr(),
        pNext: std::ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        ..system_vfs
    };
    // SAFETY: the VFS is leaked, so it lives as long as the process.
    let code = unsafe { sqlite3_vfs_register(Box::into_raw(Box::new(ours)), 1) };
    assert_eq!(code, SQLITE_OK);
    Registered { system }
}

fn system() -> &'static sqlite3_vfs {
    let registered = SYSTEM.get().expect("ours is called only when it is registered");
    // SAFETY: the VFS is registered, and nothing unregisters it.
    unsafe { &*registered.system }
}

/// Returns the disk of a file's folder.
fn disk_of(name: *const c_char) -> Option<RecordedFile> {
    if name.is_null() {
        return None;
    }
    // SAFETY: SQLite's names end with a nul.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes())).to_owned();
    let disks = DISKS.lock();
    Some(RecordedFile { disk: Arc::clone(disks.get(path.parent()?)?), path })
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let registered = SYSTEM.get().expect("ours is called only when it is registered");
    let open = system().xOpen.expect("a VFS opens files");
    let Some(told) = disk_of(name) else {
        // SAFETY: the memory is larger than the system needs, and the file becomes entirely the system's.
        return unsafe { open(registered.system, name, file, flags, out_flags) };
    };
    // SAFETY: SQLite allocated memory for the head and the system's file behind it; HEAD keeps that file aligned.
    unsafe {
        let head = file.cast::<OpenFile>();
        (*head).base.pMethods = std::ptr::null();
        let code = open(registered.system, name, inner(file), flags, out_flags);
        // SQLite's convention: a file with methods must be closed.
        if !(*inner(file)).pMethods.is_null() {
            (*head).told = Box::into_raw(Box::new(told));
            (*head).base.pMethods = &METHODS;
        }
        code
    }
}

unsafe extern "C" fn delete(_: *mut sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    let registered = SYSTEM.get().expect("ours is called only when it is registered");
    let told = disk_of(name);
    // The folder need not really be synced.
    let sync = if told.is_some() { 0 } else { sync_folder };
    // SAFETY: the arguments are SQLite's.
    let code = unsafe { system().xDelete.expect("a VFS deletes files")(registered.system, name, sync) };
    if let Some(RecordedFile { disk, path }) = told.filter(|_| code == SQLITE_OK) {
        disk.saw(Event::Removed { file: path });
    }
    code
}

/// Returns the system's file behind the head.
///
/// # Safety
/// The file must have been opened by [`open`] for a watched folder.
unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the memory extends beyond the head.
    unsafe { file.byte_add(HEAD) }
}

/// # Safety
/// As [`inner`].
unsafe fn recorded_file<'a>(file: *mut sqlite3_file) -> &'a RecordedFile {
    // SAFETY: `open` set the pointer, and it is freed when the file is closed.
    unsafe { &*(*file.cast::<OpenFile>()).told }
}

/// Calls the same method of the system's file.
macro_rules! pass {
    ($file:ident . $method:ident ( $($argument:expr),* )) => {{
        // SAFETY: SQLite calls methods of files that `open` has opened; the arguments are its own.
        unsafe {
            let inner = inner($file);
            (*(*inner).pMethods).$method.expect("the system's files have it")(inner, $($argument),*)
        }
    }};
}

/// Methods that only forward the call.
macro_rules! passed_on {
    ($($name:ident = $method:ident ( $($argument:ident : $type:ty),* ) $(-> $out:ty)?;)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file, $($argument: $type),*) $(-> $out)? {
            pass!(file.$method($($argument),*))
        }
    )*};
}

passed_on! {
    read = xRead(to: *mut c_void, count: c_int, at: sqlite3_int64) -> c_int;
    file_size = xFileSize(size: *mut sqlite3_int64) -> c_int;
    lock = xLock(level: c_int) -> c_int;
    unlock = xUnlock(level: c_int) -> c_int;
    check_reserved_lock = xCheckReservedLock(out: *mut c_int) -> c_int;
    sector_size = xSectorSize() -> c_int;
    device_characteristics = xDeviceCharacteristics() -> c_int;
    shm_map = xShmMap(region: c_int, size: c_int, extend: c_int, out: *mut *mut c_void) -> c_int;
    shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int;
    shm_barrier = xShmBarrier();
    shm_unmap = xShmUnmap(delete: c_int) -> c_int;
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    let code = pass!(file.xClose());
    // SAFETY: `open` allocated it, and SQLite closes a file once.
    drop(unsafe { Box::from_raw((*file.cast::<OpenFile>()).told) });
    code
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, count: c_int, at: sqlite3_int64) -> c_int {
    // SAFETY: the file is a watched one; SQLite passes as many bytes as it says.
    let (told, bytes) = unsafe { (recorded_file(file), std::slice::from_raw_parts(from.cast::<u8>(), count as usize)) };
    let code = pass!(file.xWrite(from, count, at));
    if code == SQLITE_OK {
        told.disk.saw(Event::Write { file: told.path.clone(), at: at as usize, bytes: bytes.to_vec() });
    }
    code
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: sqlite3_int64) -> c_int {
    // SAFETY: the file is a watched one.
    let told = unsafe { recorded_file(file) };
    let code = pass!(file.xTruncate(length));
    if code == SQLITE_OK {
        told.disk.saw(Event::Truncate { file: told.path.clone(), length: length as usize });
    }
    code
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _: c_int) -> c_int {
    // SAFETY: the file is a watched one.
    let told = unsafe { recorded_file(file) };
    told.disk.saw(Event::Sync { file: told.path.clone() });
    SQLITE_OK
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, what: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the file is a watched one.
    let told = unsafe { recorded_file(file) };
    if what == SQLITE_FCNTL_PRAGMA && told.disk.is_hasty {
        // SAFETY: for a pragma the argument is three texts or nulls: the answer, the name, the value.
        let (name, value) = unsafe {
            let texts = argument.cast::<*const c_char>();
            (*texts.add(1), *texts.add(2))
        };
        // SAFETY: as above; the texts end with a nul.
        let is = |text: *const c_char, what: &CStr| !text.is_null() && unsafe { CStr::from_ptr(text) } == what;
        if is(name, c"synchronous") && is(value, c"FULL") {
            // The pragma is handled here, so SQLite does nothing itself.
            return SQLITE_OK;
        }
    }
    pass!(file.xFileControl(what, argument))
}

/// Version 2, without reading through mapped memory, which needs version 3.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
