/*
 * needs: disk
 * command: dd if=/dev/zero of=/var/tmp/probescope-io-d bs=64k count=8 oflag=direct status=none
 * expect: 1 1 1
 */
#pragma D option quiet
io:::start
/execname == "dd"/
{
	start[args[0]->b_edev, args[0]->b_blkno] = timestamp;
	bytes += args[0]->b_bcount;
	writes += args[0]->b_flags & 0x100 ? 1 : 0;
}
io:::done
/start[args[0]->b_edev, args[0]->b_blkno]/
{
	@took[args[1]->dev_statname] = quantize(timestamp - start[args[0]->b_edev, args[0]->b_blkno]);
	start[args[0]->b_edev, args[0]->b_blkno] = 0;
	done++;
}
END
{
	printf("%d %d %d\n", bytes >= 524288, writes >= 8, done >= 8);
	trunc(@took);
}
