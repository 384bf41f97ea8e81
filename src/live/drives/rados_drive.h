// A drive that is a namespace of a RADOS pool, where hot or warm must scale past one host. The pool
// keeps copies or a code of its own over its hosts, so a tier on it is one drive with one copy.
//
//   rados:POOL/NAMESPACE[?conf=FILE][&user=NAME][&keyring=FILE]   (drives/ceph_pool.h)
//   drive          the object that says whose drive this is, as folder_drive.h has it
//   NAME           the first 16 MiB of a shard file
//   NAME@1, ...    ... and its further pieces
//   seen           the note; NAME!aside says that a file is set aside (aside_names.h)
// Bytes are appended a quarter of a megabyte at a time, with up to four appends in flight; a piece
// is begun when the one before it is acknowledged, and pieces are removed from the last to the
// first. So what exists of a file is always a prefix of it. sync() waits until all of it is
// acknowledged, which Ceph does once every replica has it on its disk.
//
// An append without an answer fails the file, which is then removed like any unfinished file; names
// are never used again, so a late append leaves a file that no row names. A piece without those
// before it (a removal that was cut short) is listed as its file and removed with it.
//
// Faults. A cluster that does not answer or refuses us is `busy`, which is no damage (s3_drive.h
// says what follows); after a silence further calls fail at once for two seconds. If the cluster is
// silent when the drive is opened, the mark is checked at the first call that gets through.
#pragma once

#include "core/base/diagnostic.h"
#include "live/drives/folder_drive.h"
#include "live/drives/pool.h"

namespace orrery::drives {

// Fails if the mark is missing or another drive's, or, with `make`, if the cluster does not answer.
// `where` is the address that a fault names.
Result<std::unique_ptr<Drive>> open_rados_drive(std::unique_ptr<drives::Pool> pool,
                                                const std::string& where, const DriveMark& mark,
                                                bool make);

}  // namespace orrery::drives
