//! Names of kernel functions and tracepoints that older scripts use and that newer kernels changed.

/// Former name and the names since, newest last, as the kernel's history has them. What a kernel does
/// not have of them is left out by who asks.
#[rustfmt::skip]
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("_do_fork", &["kernel_clone"]),
    ("do_fork", &["_do_fork", "kernel_clone"]),
    ("do_sys_open", &["do_sys_openat2"]),
    ("do_execve", &["do_execveat_common.isra.0", "do_execveat_common"]),
    ("new_sync_read", &["vfs_read"]),
    ("new_sync_write", &["vfs_write"]),
    ("__vfs_read", &["vfs_read"]),
    ("__vfs_write", &["vfs_write"]),
    ("generic_make_request", &["submit_bio_noacct"]),
    ("blk_start_request", &["blk_mq_start_request"]),
    ("blk_account_io_start", &["__blk_account_io_start", "blk_mq_start_request"]),
    ("blk_account_io_done", &["__blk_account_io_done", "blk_mq_end_request"]),
    ("blk_account_io_completion", &["blk_update_request"]),
    ("__elv_add_request", &["blk_mq_sched_insert_request", "blk_mq_insert_request"]),
    ("blk_throtl_bio", &["__blk_throtl_bio"]),
    ("scsi_mq_done", &["scsi_done"]),
    ("scsi_init_io", &["scsi_alloc_sgtables"]),
    ("add_to_page_cache", &["filemap_add_folio"]),
    ("add_to_page_cache_lru", &["filemap_add_folio"]),
    ("__add_to_page_cache_locked", &["__filemap_add_folio"]),
    ("__do_page_cache_readahead", &["do_page_cache_ra", "page_cache_ra_unbounded"]),
    ("__page_cache_alloc", &["filemap_alloc_folio", "filemap_alloc_folio_noprof"]),
    ("find_get_page", &["pagecache_get_page", "__filemap_get_folio"]),
    ("pagecache_get_page", &["__filemap_get_folio"]),
    ("mark_page_accessed", &["folio_mark_accessed"]),
    ("account_page_dirtied", &["folio_account_dirtied", "__folio_mark_dirty"]),
    ("__set_page_dirty", &["__folio_mark_dirty"]),
    ("wait_on_page_bit", &["folio_wait_bit"]),
    ("end_page_writeback", &["folio_end_writeback"]),
    ("__lock_page", &["__folio_lock"]),
    ("unlock_page", &["folio_unlock"]),
    ("lru_cache_add", &["folio_add_lru"]),
    ("activate_page", &["folio_activate"]),
    ("rotate_reclaimable_page", &["folio_rotate_reclaimable"]),
    ("shrink_page_list", &["shrink_folio_list"]),
    ("swap_readpage", &["swap_read_folio"]),
    ("swap_writepage", &["swap_writeout"]),
    ("migrate_misplaced_page", &["migrate_misplaced_folio"]),
    ("migrate_page", &["migrate_folio"]),
    ("alloc_huge_page", &["alloc_hugetlb_folio"]),
    ("alloc_hugepage_vma", &["vma_alloc_folio", "vma_alloc_folio_noprof"]),
    ("__alloc_pages_nodemask", &["__alloc_pages", "__alloc_pages_noprof", "__alloc_frozen_pages_noprof"]),
    ("do_page_fault", &["exc_page_fault", "do_user_addr_fault"]),
    ("__do_page_fault", &["do_user_addr_fault", "exc_page_fault"]),
    ("handle_page_fault", &["handle_mm_fault", "exc_page_fault"]),
    ("kfree_skb", &["kfree_skb_reason", "sk_skb_reason_drop"]),
    ("kfree_skb_reason", &["sk_skb_reason_drop"]),
    ("tcp_drop", &["tcp_drop_reason", "sk_skb_reason_drop"]),
    ("dev_queue_xmit", &["__dev_queue_xmit"]),
    ("napi_poll", &["__napi_poll"]),
    ("sock_sendmsg", &["__sock_sendmsg"]),
    ("skb_copy_datagram_iovec", &["skb_copy_datagram_iter"]),
    ("udp_destroy_sock", &["udp_destruct_sock"]),
    ("ttwu_do_wakeup", &["ttwu_do_activate"]),
    ("__send_signal", &["__send_signal_locked"]),
    ("send_signal", &["send_signal_locked"]),
    ("mem_cgroup_try_charge", &["__mem_cgroup_charge"]),
    ("mem_cgroup_charge", &["__mem_cgroup_charge"]),
];

/// Former `category:event` and the names since.
const TRACEPOINTS: &[(&str, &[&str])] = &[
    ("block:block_bio_bounce", &["block:block_bio_queue"]),
    ("io_uring:io_uring_submit_sqe", &["io_uring:io_uring_submit_req"]),
    ("kmem:kmalloc_node", &["kmem:kmalloc"]),
    ("kmem:kmem_cache_alloc_node", &["kmem:kmem_cache_alloc"]),
    ("tcp:tcp_set_state", &["sock:inet_sock_set_state"]),
    ("vmscan:mm_vmscan_writepage", &["vmscan:mm_vmscan_write_folio"]),
    ("writeback:writeback_dirty_page", &["writeback:writeback_dirty_folio"]),
    ("writeback:wait_on_page_writeback", &["writeback:folio_wait_writeback"]),
];

/// What the function `old` may be called in a newer kernel, likeliest first.
#[must_use]
pub fn functions(old: &str) -> Vec<String> {
    let listed = since(FUNCTIONS, old).map(str::to_owned);
    // Allocation functions became wrappers of `..._noprof` in Linux 6.10; compilers split static ones.
    let variants = ["_noprof", ".isra.0", ".constprop.0"].map(|end| format!("{old}{end}"));
    // System calls take their registers since Linux 4.17, by functions with the architecture's name.
    let call = old.strip_prefix("sys_").or_else(|| old.strip_prefix("SyS_"));
    let calls = call.into_iter().flat_map(|c| [format!("__x64_sys_{c}"), format!("__arm64_sys_{c}")]);
    listed.chain(variants).chain(calls).collect()
}

/// What the tracepoint `category:event` may be called in a newer kernel.
pub fn tracepoints(old: &str) -> impl Iterator<Item = &'static str> {
    since(TRACEPOINTS, old)
}

fn since(table: &'static [(&str, &[&str])], old: &str) -> impl Iterator<Item = &'static str> {
    let entry = table.iter().find(|(name, _)| *name == old);
    entry.into_iter().flat_map(|(_, names)| names.iter().rev().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_names_come_first() {
        assert_eq!(functions("tcp_drop")[..2], ["sk_skb_reason_drop", "tcp_drop_reason"]);
        assert!(functions("__kmalloc").contains(&"__kmalloc_noprof".to_owned()));
        assert!(functions("sys_read").contains(&"__x64_sys_read".to_owned()));
        assert_eq!(tracepoints("tcp:tcp_set_state").collect::<Vec<_>>(), ["sock:inet_sock_set_state"]);
    }

    #[test]
    fn no_name_succeeds_itself() {
        for (old, names) in FUNCTIONS.iter().chain(TRACEPOINTS) {
            assert!(!names.is_empty() && !names.contains(old), "{old}");
        }
    }
}
