// A drive that is a namespace of a RADOS pool, where hot or warm must scale past one host. The pool
// keeps copies or a code of its own over its hosts, so a tier on it is one drive with one copy.
//
//   rados:POOL/NAMESPACE[?conf=FILE][&user=NAME][&keyring=FILE]   (drives/ceph_pool.h)
//   drive          the object that says whose drive this is, as folder_drive.h has it
//   NAME           the first 16 MiB of a shard file
//   NAME@1, ...    ... and its further pieces
//   seen           the note; NAME!aside says that a file is set aside (aside_names.h)
// Bytes are appended a quarter of a megabyte at a time, four of them under way; a piece is begun
// when the one before it is acknowledged, and they are removed from the last to the first. So what
// is there of a file, at whatever moment, is its front. sync() waits until all of it is
// acknowledged, which Ceph does once every replica has it on its disk.
//
// An append whose end is not known (nobody answered) fails the file, which is then removed as any
// that will not be finished; names are never used again, so what comes later is a file that no row
// names. A piece without those before it (a removal that died) is listed as its file, and goes with
// it.
//
// Faults. A cluster that does not answer or refuses us is `busy`, which is no damage (s3_drive.h
// says what follows); after a silence further calls fail at once for two seconds. A cluster that is
// silent when ours opens is checked against the mark at the first call that gets through.
#pragma once

#include "core/base/diagnostic.h"
#include "live/drives/folder_drive.h"
#include "live/drives/pool.h"

namespace orrery::drives {

// The fault is a mark that is another's or missing, or, with `make`, a cluster that does not
// answer. `where` names the place in it.
Result<std::unique_ptr<Drive>> open_rados_drive(std::unique_ptr<drives::Pool> pool,
                                                const std::string& where, const DriveMark& mark,
                                                bool make);

}  // namespace orrery::drives
