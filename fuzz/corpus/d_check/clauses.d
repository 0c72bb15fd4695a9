#!/usr/sbin/dtrace -s
#pragma D option quiet
BEGIN, tick-1s
/ a / 2 == 3 && (b / c) > 1 /
{
	x = 1 + 2 * 3; ;
	self->t = timestamp;
	this->s = stringof(execname);
	@bytes[execname, pid] = sum(x ? arg0 : -1);
	printf("%d %s\n", x++, this->s);
}
syscall::open*:entry /pid == $target/ { @["open", copyinstr(arg0)] = lquantize(arg1, 0, 100, 10); }
END { printa("%d %@d\n", @bytes); exit(0) }
