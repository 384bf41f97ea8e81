// Stores for tests: one that passes every call on, and an item put as a copy is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "live/agent/keep_store.h"

namespace orrery::agent {

class PassingStore : public KeepStore {
 public:
  explicit PassingStore(std::unique_ptr<KeepStore> store) : store_(std::move(store)) {}

  Result<void> hold() override { return store_->hold(); }
  void release() override { store_->release(); }
  Result<KeptListing> list() override { return store_->list(); }
  Result<net::BodySource> read(const std::string& id, const KeptFile& file) override {
    return store_->read(id, file);
  }
  Result<void> begin(const std::string& id) override { return store_->begin(id); }
  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    return store_->write(id, path, bytes, source);
  }
  Result<void> finish(const std::string& id) override { return store_->finish(id); }
  void give_up(const std::string& id) override { store_->give_up(id); }
  Result<void> set_aside(const KeptItem& item, const std::string& name) override {
    return store_->set_aside(item, name);
  }
  Result<void> purge(const KeptAside& aside) override { return store_->purge(aside); }

 protected:
  KeepStore& inner() { return *store_; }

 private:
  std::unique_ptr<KeepStore> store_;
};

inline Result<void> put_file(KeepStore& store, const std::string& id, const std::string& path,
                             const std::string& text) {
  return store.write(id, path, text.size(), net::source_of(text));
}

inline Result<void> put_item(KeepStore& store, const std::string& id,
                             const std::map<std::string, std::string>& files) {
  if (auto begun = store.begin(id); !begun) return begun;
  for (const auto& [path, text] : files) {
    if (auto wrote = put_file(store, id, path, text); !wrote) return wrote;
  }
  return store.finish(id);
}

}  // namespace orrery::agent
