#!/bin/bash
#@stamp@
# Slurm's prolog, as root on each node of a job. When it fails, the node is drained and the job goes back to the queue.
#@mount@
exec @health@
