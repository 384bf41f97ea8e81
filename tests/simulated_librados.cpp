#include "simulated_librados.h"

#include <rados/librados.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

using orrery::rados::SimulatedLibrados;

SimulatedLibrados& state() {
  static auto* const kState = new SimulatedLibrados;
  return *kState;
}

// Counts the call. Returns the code that it must return, or 0 if it should be carried out.
int called(const std::string& name) {
  ++state().times[name];
  const auto found = state().codes.find(name);
  return found == state().codes.end() ? 0 : found->second;
}

struct Operation {
  bool is_new = false;
  bool must_be_there = false;
  std::string bytes;
};
struct Completion {
  int code = 0;
};
struct Walk {
  std::vector<std::string> names;
  std::size_t next = 0;
};

int apply(const Operation& what, const std::string& object) {
  const bool is_there = state().objects.contains(object);
  if (what.is_new && is_there) return -EEXIST;
  if (what.must_be_there && !is_there) return -ENOENT;
  state().objects[object] += what.bytes;
  return 0;
}

template <class T>
T* made(T* what) {
  ++state().held;
  return what;
}

template <class T>
void gone(void* what) {
  --state().held;
  delete static_cast<T*>(what);
}

}  // namespace

extern "C" {

orrery::rados::SimulatedLibrados* orrery_simulated_librados() { return &state(); }

int rados_create2(rados_t* cluster, const char* name, const char* user, std::uint64_t) {
  if (const int code = called("create2"); code < 0) return code;
  state().cluster = name;
  state().user = user;
  *cluster = made(new Completion);
  return 0;
}
int rados_conf_read_file(rados_t, const char* path) {
  state().conf = path;
  return called("conf_read_file");
}
int rados_conf_set(rados_t, const char* option, const char* value) {
  state().options[option] = value;
  return called("conf_set");
}
int rados_connect(rados_t) {
  const int code = called("connect");
  if (state().connecting) state().connecting();
  return code;
}
void rados_shutdown(rados_t cluster) {
  called("shutdown");
  gone<Completion>(cluster);
}
int rados_ioctx_create(rados_t, const char* pool, rados_ioctx_t* io) {
  if (const int code = called("ioctx_create"); code < 0) return code;
  if (state().pool != pool) return -ENOENT;
  *io = made(new Completion);
  return 0;
}
void rados_ioctx_destroy(rados_ioctx_t io) {
  called("ioctx_destroy");
  gone<Completion>(io);
}
void rados_ioctx_set_namespace(rados_ioctx_t, const char* space) { state().space = space; }
void rados_set_pool_full_try(rados_ioctx_t) { state().tries_when_full = true; }
int rados_ioctx_pool_required_alignment2(rados_ioctx_t, std::uint64_t* alignment) {
  *alignment = state().alignment;
  return called("alignment");
}

rados_write_op_t rados_create_write_op() { return made(new Operation); }
void rados_release_write_op(rados_write_op_t op) { gone<Operation>(op); }
void rados_write_op_create(rados_write_op_t op, int exclusive, const char*) {
  static_cast<Operation*>(op)->is_new = exclusive == LIBRADOS_CREATE_EXCLUSIVE;
}
void rados_write_op_assert_exists(rados_write_op_t op) {
  static_cast<Operation*>(op)->must_be_there = true;
}
void rados_write_op_append(rados_write_op_t op, const char* bytes, std::size_t count) {
  called("append");
  static_cast<Operation*>(op)->bytes.append(bytes, count);
}
int rados_aio_create_completion2(void*, rados_callback_t, rados_completion_t* done) {
  if (const int code = called("create_completion"); code < 0) return code;
  *done = made(new Completion);
  return 0;
}
int rados_aio_write_op_operate(rados_write_op_t op, rados_ioctx_t, rados_completion_t done,
                               const char* object, time_t*, int) {
  if (const int code = called("operate"); code < 0) return code;
  const int code = called("complete");
  static_cast<Completion*>(done)->code =
      code < 0 ? code : apply(*static_cast<Operation*>(op), object);
  return 0;
}
int rados_aio_wait_for_complete(rados_completion_t) { return called("wait"); }
int rados_aio_get_return_value(rados_completion_t done) {
  return static_cast<Completion*>(done)->code;
}
void rados_aio_release(rados_completion_t done) { gone<Completion>(done); }

int rados_read(rados_ioctx_t, const char* object, char* to, std::size_t count,
               std::uint64_t offset) {
  if (const int code = called("read"); code < 0) return code;
  const auto found = state().objects.find(object);
  if (found == state().objects.end()) return -ENOENT;
  if (offset >= found->second.size()) return 0;
  const std::size_t part = std::min(count, found->second.size() - offset);
  std::memcpy(to, found->second.data() + offset, part);
  return static_cast<int>(part);
}
int rados_stat(rados_ioctx_t, const char* object, std::uint64_t* bytes, time_t*) {
  if (const int code = called("stat"); code < 0) return code;
  const auto found = state().objects.find(object);
  if (found == state().objects.end()) return -ENOENT;
  *bytes = found->second.size();
  return 0;
}
int rados_remove(rados_ioctx_t, const char* object) {
  if (const int code = called("remove"); code < 0) return code;
  return state().objects.erase(object) > 0 ? 0 : -ENOENT;
}

int rados_nobjects_list_open(rados_ioctx_t, rados_list_ctx_t* walk) {
  if (const int code = called("list_open"); code < 0) return code;
  auto* const all = made(new Walk);
  for (const auto& [name, bytes] : state().objects) all->names.push_back(name);
  *walk = all;
  return 0;
}
int rados_nobjects_list_next(rados_list_ctx_t walk, const char** name, const char**, const char**) {
  auto& all = *static_cast<Walk*>(walk);
  if (all.next == all.names.size()) {
    const int code = called("list_end");
    return code < 0 ? code : -ENOENT;
  }
  *name = all.names[all.next++].c_str();
  return 0;
}
void rados_nobjects_list_close(rados_list_ctx_t walk) { gone<Walk>(walk); }

int rados_mon_command(rados_t, const char** commands, std::size_t count, const char*, std::size_t,
                      char** text, std::size_t* length, char**, std::size_t*) {
  for (std::size_t i = 0; i < count; ++i) state().commands.emplace_back(commands[i]);
  if (const int code = called("mon_command"); code < 0) return code;
  const std::string& answer = state().answer;
  *text = made(static_cast<char*>(std::malloc(answer.size() + 1)));
  std::memcpy(*text, answer.data(), answer.size());
  *length = answer.size();
  return 0;
}
void rados_buffer_free(char* text) {
  --state().held;
  std::free(text);
}
}
