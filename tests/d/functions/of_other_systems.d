/*
 * Names that another system has for what the kernel keeps of threads, processes and files.
 * workload: write 3 77
 * expect: /dev/null 4 1
 * expect: priority 1
 * expect: parent 1
 */
#pragma D option quiet
syscall::write:entry
/pid == $target && arg2 == 77 && !seen/
{
	seen = 1;
	this->filep = curthread->t_procp->p_user.u_finfo.fi_list[arg0].uf_file;
	this->vnodep = this->filep != 0 ? this->filep->f_vnode : 0;
	this->path = this->vnodep ? this->vnodep->v_path : "none";
	this->entry = (uf_entry_t *)((uint64_t)curthread->t_procp->p_user.u_finfo.fi_list +
	    (uint64_t)arg0 * (uint64_t)sizeof (uf_entry_t));
	printf("%s %d %d\n", this->path, this->vnodep->v_type, this->entry->uf_file == this->filep);
	printf("priority %d\n", curthread->t_pri == curlwpsinfo->pr_pri && curthread->t_pri != -1);
	printf("parent %d\n", curthread->t_procp->p_ppid == ppid && curthread->t_procp->p_parent->p_user.u_comm != "");
}
