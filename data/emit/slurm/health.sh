#!/bin/bash
#@stamp@
# Checks whether this node is fit for a job. Exits with 0 if it is; otherwise writes each fault
# to stderr and to the log. prolog.sh and epilog.sh run it around every job, and Slurm drains the
# node if it fails. To try it by hand: SLURMD_NODENAME=NODE health.sh
set -u
PATH=${PATH:-}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin  # Slurm sets no PATH for hooks
node=${SLURMD_NODENAME:-$(hostname -s)}
case "$node" in
#@fleets@
  *) echo "$node is not a host of this cluster" >&2; exit 1 ;;
esac
disks=(/ /tmp)
disk_percent_max=95
mounts=(@mounts@)

faults=0
fault() {
  faults=$((faults + 1))
  printf '%s: %s\n' "$node" "$1" >&2
  logger -t orrery-health -- "$node: $1" 2>/dev/null
}

# A hanging driver is reported as a fault; it must not hang this script.
smi() { timeout 30 nvidia-smi "$@"; }

check_gpus() {
  [ "$gpus" -gt 0 ] || return
  if [ "$vendor" != nvidia ]; then
    local found
    found=$(ls $devices 2>/dev/null | wc -l)
    [ "$found" -eq "$gpus" ] || fault "only $found of $gpus accelerators were found"
    return
  fi
  local list
  if ! list=$(smi --query-gpu=index,ecc.errors.uncorrected.volatile.total \
                  --format=csv,noheader,nounits); then
    fault "nvidia-smi failed"
    return
  fi
  local found
  found=$(printf '%s\n' "$list" | grep -c '^[0-9]')
  [ "$found" -eq "$gpus" ] || fault "only $found of $gpus GPUs answer"
  while IFS=, read -r index errors; do
    errors=${errors//[^0-9]/}
    [ "${errors:-0}" -eq 0 ] || fault "GPU $index has $errors uncorrected memory errors"
  done <<<"$list"
}

check_remapped_rows() {
  [ "$vendor" = nvidia ] && [ "$gpus" -gt 0 ] || return
  local bus pending failure
  while IFS=, read -r bus pending failure; do
    case "${pending// /}" in Yes | 1) fault "GPU $bus waits for a reset to remap a row" ;; esac
    case "${failure// /}" in Yes | 1) fault "GPU $bus has no spare row left" ;; esac
  done < <(smi --query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure \
               --format=csv,noheader 2>/dev/null)
}

# The codes after which a GPU cannot be trusted: uncorrected memory error, row remap failure, NVLink,
# fallen off the bus, uncontained memory error. Other codes are faults of the program.
check_xid() {
  [ "$vendor" = nvidia ] && [ "$gpus" -gt 0 ] || return
  local line
  line=$(journalctl -k -q --no-pager --since=-1h 2>/dev/null |
         grep -E 'NVRM: Xid \(.*\): (48|64|74|79|95),' | tail -n 1)
  [ -z "$line" ] || fault "fatal XID: ${line##*NVRM: }"
}

check_nvlink() {
  [ "$nvlink" -eq 1 ] || return
  local down
  down=$(smi nvlink --status 2>/dev/null | grep -ci inactive)
  [ "$down" -eq 0 ] || fault "$down NVLinks are inactive"
}

check_disks() {
  local path used
  for path in "${disks[@]}"; do
    used=$(df -P -- "$path" 2>/dev/null | awk 'NR == 2 { sub("%", "", $5); print $5 }')
    [ -n "$used" ] || { fault "$path cannot be read"; continue; }
    [ "$used" -lt "$disk_percent_max" ] || fault "$path is $used % full"
  done
}

check_mounts() {
  local path
  for path in "${mounts[@]}"; do
    timeout 10 mountpoint -q -- "$path" || fault "$path is not mounted, or hangs"
  done
}

check_gpus
check_remapped_rows
check_xid
check_nvlink
check_disks
check_mounts
[ "$faults" -eq 0 ]
