#!/bin/bash
#@stamp@
# Reservations of nodes. Run it when slurmctld is up and accounting.sh has created the tenants, and again
# after a change: existing reservations are created again, with their first window counted from now.
set -u
make() {
  local name=$1
  shift
  scontrol delete ReservationName="$name" >/dev/null 2>&1
  scontrol create reservation ReservationName="$name" "$@" || echo "reservation $name failed" >&2
}

#@reservations@
