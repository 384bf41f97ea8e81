#!/bin/bash
#@stamp@
# Slurm's prolog: runs as root on each node of a job. If it fails, the node is drained and the job is requeued.
#@mount@
exec @health@
