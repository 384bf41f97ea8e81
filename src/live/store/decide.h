// What a request does to the versions of a key, as pure functions: rows as they were read in, one
// commit out.
//
// The rules are those of S3 ("Using versioning in S3 buckets"). With versioning on, a put adds a
// version and the previous one stays; with versioning off or suspended, it replaces the version
// "null" wherever that is. A delete without a version id adds a delete marker (on), replaces "null"
// by a marker (suspended) or removes the object (off). A delete with a version id removes that
// version for good; if it was the newest, the next one takes its place. A commit expects every row
// that the decision depends on, including the bucket's, so that a decision based on old rows
// changes nothing. A blob that is no longer used moves from row `s` to row `g` in the same commit:
// from then on collect() may remove it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "live/rows/metadata.h"
#include "live/rows/records.h"

namespace orrery::store {

// A version and its row, as read.
struct ReadVersion {
  rows::Version version;
  rows::RowChange row;
};

// What is known about a key before a decision.
struct KeyView {
  std::string bucket;
  std::string key;
  rows::RowChange bucket_row;                    // as read
  rows::RowChange head_row;                      // as read; without a value, the key does not exist
  std::optional<rows::Version> head = {};        // the newest version, possibly a delete marker
  std::optional<ReadVersion> next = {};          // the version before it
  std::optional<ReadVersion> null_version = {};  // if it is needed and older than the newest
};

// Moves the rows of these blobs to the garbage.
void discard(rows::Commit& commit, const std::vector<rows::Blob>& blobs);

// Makes `fresh` the newest version, and adds the rows of its blobs.
rows::Commit put_commit(const KeyView& view, rows::Versioning versioning,
                        const rows::Version& fresh, const std::vector<rows::Blob>& blobs,
                        const std::vector<rows::Blob>& replaced);
// Returns the version that a put without versioning replaces: the null version, if there is one.
std::optional<rows::Version> replaced_by_put(const KeyView& view, rows::Versioning versioning);

// Removes the newest version for good; the one before it takes its place.
rows::Commit remove_head_commit(const KeyView& view, const std::vector<rows::Blob>& blobs);
rows::Commit remove_old_commit(const KeyView& view, const ReadVersion& old,
                               const std::vector<rows::Blob>& blobs);

}  // namespace orrery::store
