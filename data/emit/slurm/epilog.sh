#!/bin/bash
#@stamp@
# Slurm's epilog: runs as root on each node of a job. If it fails, the node is drained before the next job.
exec @health@
