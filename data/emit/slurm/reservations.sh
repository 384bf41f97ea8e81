#!/bin/bash
#@stamp@
# Nodes that are set aside at times. Run it once slurmctld is up (and accounting.sh has made the
# tenants), and again after a change: one that is there is made anew, its first window counted from now.
set -u
make() {
  local name=$1
  shift
  scontrol delete ReservationName="$name" >/dev/null 2>&1
  scontrol create reservation ReservationName="$name" "$@" || echo "reservation $name failed" >&2
}

#@reservations@
