#!/bin/bash
#@stamp@
# Mounts the buckets of the object store that are not mounted yet. prolog.sh runs it as root on each node of a job.
# Needs rclone and fuse3, and a file of keys that only root can read:
#   AWS_ACCESS_KEY_ID=...
#   AWS_SECRET_ACCESS_KEY=...
# To try it in another folder: ORRERY_MOUNTS=/srv/try ORRERY_LOCK=/srv/try.lock ORRERY_KEYS=my.keys ./mount.sh
url=@url@
keys=${ORRERY_KEYS:-@keys@}
region=@region@

fail() {
  echo "mount.sh: $*" >&2
  logger -t orrery-mount -- "$*" 2> /dev/null
  exit 1
}

[ -r "$keys" ] || fail "no keys in $keys"
. "$keys"
export RCLONE_CONFIG=/dev/null RCLONE_S3_PROVIDER=Other RCLONE_S3_ENDPOINT=$url RCLONE_S3_REGION=$region
export RCLONE_S3_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-} RCLONE_S3_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-}

# If several jobs begin together, one of them mounts and the others wait. The mount itself must not keep the lock.
exec 9> "${ORRERY_LOCK:-/run/lock/orrery-mount}" || fail "cannot take the lock"
flock 9

mount_bucket() {
  local bucket=$1 at=${ORRERY_MOUNTS:-}$2
  mountpoint -q "$at" && return 0
  mkdir -p "$at" || fail "cannot create $at"
  rclone mount ":s3:$bucket" "$at" --daemon --daemon-wait 30s --allow-other --vfs-cache-mode writes \
    --dir-cache-time 10s 9>&- || fail "cannot mount $bucket of $url"
}

#@mounts@
