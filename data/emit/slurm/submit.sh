#!/bin/bash
#@stamp@
#SBATCH --job-name=@job@
#SBATCH --partition=@partition@
#SBATCH --nodes=@nodes@
#SBATCH --ntasks-per-node=@tasks@
#SBATCH --cpus-per-task=@cpus@
#@gres@
#SBATCH --exclusive
#SBATCH --time=@time@
#SBATCH --signal=B:USR1@@lead@
#SBATCH --requeue
#@elastic@
#SBATCH --open-mode=append
#@switches@
#@qos@
#@licenses@
# Planned: @step@ per step, @run@ in total, goodput @useful@.
#@variables@

if [ $# -eq 0 ]; then
  echo "usage: sbatch $(basename -- "$0") COMMAND [ARGUMENT ...]" >&2
  exit 2
fi

# Near the end of the wall time Slurm signals this shell. srun passes the signal to the ranks, which
# save a checkpoint and exit. The job is then requeued and continues from that checkpoint.
asked=0
ask_to_save() {
  asked=1
  kill -USR1 "$ranks" 2>/dev/null
}
trap ask_to_save USR1

#@launch@
ranks=$!
status=0
while :; do
  wait "$ranks"
  status=$?
  kill -0 "$ranks" 2>/dev/null || break
done
if [ "$asked" -eq 1 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
