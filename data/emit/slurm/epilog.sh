#!/bin/bash
#@stamp@
# Slurm's epilog, as root on each node of a job. When it fails, the node is drained before the next job.
exec @health@
