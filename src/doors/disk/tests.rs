use std::fs;

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("probescope-disk-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_is_replaced_whole_and_keeps_mode_and_links() {
    let folder = Folder::new("replaced");
    let (file, link) = (folder.at("a"), folder.at("link"));
    write(&file, b"a longer text", Readers::Everyone).unwrap();
    chmod(&file, 0o640);
    symlink("a", &link).unwrap();
    let before = fs::metadata(&file).unwrap().ino();
    write(&link, b"short", Readers::Everyone).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"short");
    assert!(link.is_symlink() && mode(&file) == 0o640 && fs::metadata(&file).unwrap().ino() != before);
    write(&file, b"private", Readers::Owner).unwrap();
    assert_eq!(mode(&file), 0o600);
    // A link to nothing makes what it leads to.
    symlink("made", folder.at("dangling")).unwrap();
    write(&folder.at("dangling"), b"x", Readers::Everyone).unwrap();
    assert_eq!(folder.names(), ["a", "dangling", "link", "made"]);
    symlink("circle", folder.at("circle")).unwrap();
    assert!(write(&folder.at("circle"), b"x", Readers::Everyone).is_err());
}

#[test]
fn other_names_of_a_file_get_the_new_content_too() {
    let folder = Folder::new("names");
    write(&folder.at("a"), b"a longer text", Readers::Everyone).unwrap();
    fs::hard_link(folder.at("a"), folder.at("b")).unwrap();
    write(&folder.at("a"), b"short", Readers::Everyone).unwrap();
    assert_eq!(fs::read(folder.at("b")).unwrap(), b"short");
}

#[test]
fn what_is_given_up_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("given-up");
    write(&folder.at("a"), b"old", Readers::Everyone).unwrap();
    let mut output = Output::growing(&folder.at("a"), Readers::Everyone).unwrap();
    output.write_all(b"new").unwrap();
    drop(output);
    assert_eq!((fs::read(folder.at("a")).unwrap().as_slice(), folder.names()), (&b"old"[..], vec!["a".to_owned()]));
    assert_eq!(write_new(&folder.at("a"), b"x", Readers::Everyone).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(folder.at("a")).unwrap(), b"old");
    write_new(&folder.at("b"), b"x", Readers::Owner).unwrap();
    assert_eq!(mode(&folder.at("b")), 0o600);
    assert!(write(&folder.at("none/a"), b"x", Readers::Everyone).is_err());
    assert_eq!(write(&folder.0, b"x", Readers::Everyone).unwrap_err().kind(), ErrorKind::IsADirectory);
}

#[test]
fn what_grows_can_be_watched_where_nothing_was() {
    let folder = Folder::new("grows");
    let mut output = Output::growing(&folder.at("a"), Readers::Owner).unwrap();
    output.write_all(b"one two").unwrap();
    assert_eq!(fs::read(folder.at("a")).unwrap(), b"one two");
    output.truncate(3).unwrap();
    output.write_all(b"!").unwrap();
    output.commit().unwrap();
    assert_eq!((fs::read(folder.at("a")).unwrap().as_slice(), mode(&folder.at("a"))), (&b"one!"[..], 0o600));
}

#[test]
fn pipes_and_devices_are_written_as_they_are() {
    let folder = Folder::new("special");
    let pipe = folder.at("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = pipe.clone();
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        File::open(reader).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    write(&pipe, b"through", Readers::Everyone).unwrap();
    assert_eq!(read.join().unwrap(), "through");
    write(Path::new("/dev/null"), b"x", Readers::Everyone).unwrap();
    assert_eq!(write(Path::new("/dev/full"), b"x", Readers::Everyone).unwrap_err().kind(), ErrorKind::StorageFull);
}

#[test]
fn what_another_user_planted_is_not_written() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new("planted");
    let open = folder.at("open");
    fs::create_dir(&open).unwrap();
    chmod(&open, 0o1777);
    fs::write(folder.at("mine"), "whole").unwrap();
    symlink(folder.at("mine"), open.join("link")).unwrap();
    fs::write(open.join("file"), "").unwrap();
    let other = Some(65534);
    std::os::unix::fs::lchown(open.join("link"), other, other).unwrap();
    std::os::unix::fs::lchown(open.join("file"), other, other).unwrap();
    for name in ["link", "file"] {
        let refused = write(&open.join(name), b"evil", Readers::Everyone).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{name}");
        assert!(log(&open.join("link")).is_err());
    }
    assert_eq!(fs::read(folder.at("mine")).unwrap(), b"whole");
    // In a folder of that user's own, root writes, and the file stays theirs.
    let own = folder.at("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("file"), "").unwrap();
    std::os::unix::fs::chown(own.join("file"), other, other).unwrap();
    std::os::unix::fs::chown(&own, other, other).unwrap();
    write(&own.join("file"), b"new", Readers::Everyone).unwrap();
    let found = fs::metadata(own.join("file")).unwrap();
    assert_eq!((found.uid(), found.gid(), found.len()), (65534, 65534, 3));
}

#[test]
fn a_full_disk_leaves_the_old_file_whole() {
    let folder = Folder::new("full");
    let small = folder.at("small");
    fs::create_dir(&small).unwrap();
    let flags = rustix::mount::MountFlags::empty();
    if rustix::mount::mount("tmpfs", &small, "tmpfs", flags, c"size=64k").is_err() {
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        write(&small.join("a"), b"old and whole", Readers::Everyone).unwrap();
        fs::hard_link(small.join("a"), small.join("b")).unwrap();
        for grows in [false, true] {
            let path = small.join("a");
            let opened = if grows {
                Output::growing(&path, Readers::Everyone)
            } else {
                Output::beside(&path, Readers::Everyone)
            };
            let mut output = opened.unwrap();
            let failed = output.write_all(&vec![b'x'; 100_000]).and_then(|()| output.commit()).unwrap_err();
            assert_eq!(failed.kind(), ErrorKind::StorageFull);
            assert_eq!(fs::read(small.join("a")).unwrap(), b"old and whole");
            let _ = fs::remove_file(small.join("b"));
        }
        assert_eq!(fs::read_dir(&small).unwrap().count(), 1, "no draft is left");
    });
    rustix::mount::unmount(&small, rustix::mount::UnmountFlags::empty()).unwrap();
    outcome.unwrap();
}
