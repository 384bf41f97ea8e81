#!/bin/bash
#@stamp@
# Writes tenants, their quotas and the QOS to slurmdbd. Run it when slurmdbd is up, and again
# after a change: existing entries are updated.
set -u
run() { sacctmgr --immediate "$@" || echo "sacctmgr $* failed" >&2; }
# Adding an existing entry says "nothing new" and fails; that is not an error here.
ensure() { sacctmgr --immediate add "$@" >/dev/null 2>&1; true; }

ensure cluster @cluster@
#@stock@
#@preemption@
#@qos@
#@preempts@
#@tenants@
