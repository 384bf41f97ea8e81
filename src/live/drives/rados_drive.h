// A drive that is a namespace of a RADOS pool, for a hot or warm tier that must scale beyond one
// host. The pool itself keeps copies or an erasure code over its hosts, so a tier on it is one
// drive with one copy.
//
//   rados:POOL/NAMESPACE[?conf=FILE][&user=NAME][&keyring=FILE]   (drives/ceph_pool.h)
//   drive          the object with the marker of the drive, as in folder_drive.h
//   NAME           the first 16 MiB of a shard file
//   NAME@1, ...    ... and its further pieces
//   seen           the note; NAME!aside says that a file is set aside (aside_names.h)
//
// Bytes are appended in units of a quarter of a megabyte, with up to four appends in flight. A
// piece is started when the one before it has been acknowledged, and pieces are removed from the
// last to the first. So the stored part of a file is always a prefix of it. sync() waits until all
// of it is acknowledged; Ceph does that once every replica has it on disk.
//
// An append without an answer fails the file, which is then removed like any unfinished file. Names
// are never reused, so a late append leaves a file that no metadata row refers to. A piece without
// the pieces before it (an interrupted removal) is listed as its file and removed with it.
//
// Faults. A cluster that does not answer or refuses us is `busy`, which does not count as damage
// (s3_drive.h says what follows); after a silence, further calls fail at once for two seconds. If
// the cluster is silent when the drive is opened, the marker is checked at the first call that
// succeeds.
#pragma once

#include "core/base/diagnostic.h"
#include "live/drives/folder_drive.h"
#include "live/drives/pool.h"

namespace orrery::drives {

// Fails if the marker is missing or belongs to another drive, or, with `make`, if the cluster does
// not answer. `where` is the address that faults name.
Result<std::unique_ptr<Drive>> open_rados_drive(std::unique_ptr<drives::Pool> pool,
                                                const std::string& where, const DriveMark& mark,
                                                bool make);

}  // namespace orrery::drives
