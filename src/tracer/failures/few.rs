//! Functions that are worth a probe each, where the kernel takes no links to many.

use crate::kernel::Kernel;

/// By how often an error comes from them or passes them. Those of one purpose were renamed as kernels went on.
const FUNCTIONS: &[&str] = &[
    // Names and walks along them.
    "getname_flags", "do_filp_open", "path_openat", "path_lookupat", "path_parentat", "filename_lookup",
    "filename_parentat", "filename_create", "user_path_at_empty", "link_path_walk", "walk_component", "pick_link",
    "step_into", "lookup_fast", "lookup_slow", "__lookup_slow", "__lookup_hash", "may_open", "do_open", "complete_walk",
    "do_sys_openat2", "do_dentry_open", "handle_truncate", "may_linkat", "path_init", "unlazy_walk",
    // Rights.
    "inode_permission", "generic_permission", "security_inode_permission", "may_delete", "may_create",
    "security_file_open", "security_inode_setattr", "security_path_mknod", "cap_inode_setxattr", "mnt_want_write",
    "__mnt_want_write", "mnt_want_write_file", "setattr_prepare", "notify_change", "chown_common", "chmod_common",
    // What is done in folders.
    "do_mkdirat", "do_rmdir", "do_unlinkat", "do_linkat", "do_symlinkat", "do_renameat2", "do_mknodat", "vfs_mkdir",
    "vfs_rmdir", "vfs_unlink", "vfs_link", "vfs_symlink", "vfs_rename", "vfs_mknod", "vfs_create", "simple_rmdir",
    "simple_rename", "shmem_rmdir", "shmem_mknod", "shmem_rename2", "shmem_get_inode", "ext4_rmdir", "ext4_mkdir",
    "ext4_create",
    // What is done with files.
    "ksys_read", "ksys_write", "vfs_read", "vfs_write", "new_sync_write", "new_sync_read", "generic_file_write_iter",
    "__generic_file_write_iter", "generic_perform_write", "generic_write_checks", "shmem_write_begin",
    "shmem_getpage_gfp", "shmem_alloc_and_acct_page", "shmem_alloc_page", "ksys_lseek", "vfs_llseek", "no_llseek",
    "vfs_fallocate", "ksys_fallocate", "shmem_fallocate", "do_truncate", "vfs_truncate", "do_vfs_ioctl", "vfs_ioctl",
    "vfs_getxattr", "vfs_setxattr", "vfs_statx", "vfs_getattr", "fifo_open", "chrdev_open", "blkdev_open", "pipe_write",
    "iterate_dir",
    // Descriptors.
    "__alloc_fd", "alloc_fd", "get_unused_fd_flags", "ksys_dup3", "do_dup2", "do_fcntl", "alloc_empty_file",
    // Mounts.
    "path_mount", "do_mount", "do_new_mount", "path_umount", "do_umount", "ksys_umount", "vfs_get_tree",
    // Programs.
    "do_execveat_common", "bprm_execve", "exec_binprm", "search_binary_handler", "do_open_execat", "load_elf_binary",
    "load_script", "load_misc_binary", "kernel_read",
    // Sockets.
    "__sys_socket", "__sock_create", "inet_create", "__sys_bind", "inet_bind", "__inet_bind", "inet_csk_get_port",
    "__sys_connect", "__sys_connect_file", "inet_stream_connect", "__inet_stream_connect", "tcp_v4_connect",
    "inet_dgram_connect", "ip_route_output_key_hash", "unix_stream_connect", "unix_find_other", "unix_bind",
    "sock_sendmsg", "tcp_sendmsg", "udp_sendmsg", "__sys_listen", "inet_listen", "__sys_accept4", "__sys_setsockopt",
    // Processes and memory.
    "check_kill_permission", "security_task_kill", "kill_pid_info", "group_send_sig_info", "do_prlimit",
    "copy_process", "security_task_fix_setuid", "ptrace_attach", "__ptrace_may_access", "do_mmap", "vm_mmap_pgoff",
    "ksys_mmap_pgoff", "mmap_region", "get_unmapped_area", "do_mprotect_pkey", "mprotect_fixup", "should_failslab",
];

/// Those that this kernel has, as attach points.
pub fn points(kernel: &Kernel) -> Vec<String> {
    let has = |name: &&&str| kernel.functions().is_ok_and(|table| table.contains(name));
    FUNCTIONS.iter().filter(has).map(|name| (*name).to_owned()).collect()
}
