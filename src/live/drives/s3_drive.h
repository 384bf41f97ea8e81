// A drive that is a prefix of a bucket in another object store: radosgw, MinIO, a cloud or another
// Orrery store. Nothing above the port notices that a warm or cold tier is elsewhere: moves copy,
// verify, switch and delete, and reads check every block.
//
//   s3+https://HOST[:PORT]/BUCKET[/PREFIX][?region=NAME]
//   PREFIX/drive   the marker of the drive, as in folder_drive.h
//   PREFIX/NAME    a whole shard file
//   PREFIX/seen    the note; PREFIX/NAME!aside says that a file is set aside (aside_names.h)
//
// A file that is being written is spooled to an unnamed file in the spool folder until sync() sends
// it: in one piece up to 64 MiB, above that in parts of 16 MiB; the upload is aborted if a part
// fails. So the other store has a file whole or not at all, and a crash leaves only parts of an
// upload (set a rule on that bucket to abort those). A file is read in ranges that grow while it is
// read in order.
//
// Faults. A store that does not answer, answers 5xx or refuses us is `busy`, which does not count
// as damage: reads that can do without it continue, nothing is rebuilt, and a request that needs it
// gets 503 SlowDown. After a silence further calls fail at once for two seconds. At most eight
// calls run at a time, and a call that has to wait more than two seconds for its turn is busy. If
// the store is silent when the drive is opened, the marker is checked at the first call that
// succeeds.
#pragma once

#include <map>

#include "live/drives/folder_drive.h"
#include "live/s3/client.h"

namespace orrery::drives {

struct S3Place {
  std::string endpoint;
  std::string bucket;
  std::string prefix;  // empty, or ends with '/'
  std::string region = "us-east-1";
};
bool is_s3_place(std::string_view text);
Result<S3Place> s3_place_of(const std::string& text);

struct S3Access {
  std::map<std::string, s3::Credentials> keys = {};  // by bucket; "": for all other buckets
  s3::RetryPolicy retry = {.attempts_max = 3, .base_s = 0.1, .cap_s = 1};
  net::ClientOptions client = {.connect_s = 3, .slow_bytes_per_s = 16 << 10, .slow_s = 10};
};

// `spool` is a folder of this machine with enough space for the largest file being written. Fails
// if the marker belongs to another drive, if there are no keys, or, with `make`, if the store does
// not answer.
Result<std::unique_ptr<Drive>> open_s3_drive(const S3Place& place, const DriveMark& mark,
                                             const S3Access& access, const std::string& spool,
                                             bool make);

}  // namespace orrery::drives
