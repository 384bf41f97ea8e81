// One connection of a server, plain or over TLS.
#include <sys/socket.h>

#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "live/net/answer.h"
#include "live/net/head.h"
#include "live/net/inflow.h"
#include "live/net/transport.h"

namespace orrery::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using PlainStream = TcpSocket;
using TlsStream = beast::ssl_stream<TcpSocket>;

constexpr std::size_t kSwallowBytes = 64u << 10;
constexpr std::size_t kFirstBytes = 4u << 10;
constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";

// One connection: read, handle, write, repeat. Only the thread of its socket may use its members.
template <class Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Stream stream, std::string peer, ServerParts& server)
      : stream_(std::move(stream)),
        peer_(std::move(peer)),
        server_(server),
        timer_(socket().get_executor()),
        tally_(server.options.load, &ServerLoad::connections) {}

  void start() override {
    wait_from_now();  // it may be closed to make room before its own thread has started
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] { self->begin(); });
  }

  std::optional<Clock::time_point> waiting_since() const override { return waiting_since_.get(); }
  bool has_request() const override { return has_request_; }
  bool is_late(Clock::time_point now) const override { return deadline_.is_before(now); }

  void close() override {
    owe_nothing();  // a connection is closed at most once to make room
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] { self->end(); });
  }

 private:
  TcpSocket& socket() { return beast::get_lowest_layer(stream_); }

  // The server's periodic check closes late connections; a timer per call would cost too much.
  void allow(std::chrono::milliseconds time) { deadline_.set(Clock::now() + time); }
  void allow_any_time() { deadline_.clear(); }
  void owe_nothing() { waiting_since_.clear(); }
  void wait_from_now() { waiting_since_.set(Clock::now()); }
  void set_pending(std::shared_ptr<Pending> pending) {
    pending_ = std::move(pending);
    has_request_ = pending_ != nullptr;
  }

  void begin() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      wait_from_now();
      allow(server_.options.request_time_max);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](const error_code& error) {
                                if (error) return self->close();
                                self->wait_for_request(self->server_.options.request_time_max);
                              });
    } else {
      wait_for_request(server_.options.request_time_max);
    }
  }

  void end() {
    error_code ignored;
    closed_ = true;
    owe_nothing();
    allow_any_time();
    events_tally_.reset();
    room_.reset();
    inflow_.reset();
    pump_.reset();
    if (pending_) *pending_->gone = true;
    timer_.cancel();
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
  }

  // The first byte of a request may take up to `limit`; then the deadline of the request applies.
  void wait_for_request(std::chrono::milliseconds limit) {
    set_pending(nullptr);
    room_.reset();
    wait_from_now();
    if (buffer_.size() > 0) return read_header();
    allow(limit);
    read_some(&Session::read_header);
  }

  void read_some(void (Session::*next)()) {
    stream_.async_read_some(
        buffer_.prepare(kFirstBytes),
        [self = this->shared_from_this(), next](const error_code& error, std::size_t got) {
          if (error) return self->close();
          self->buffer_.commit(got);
          (self.get()->*next)();
        });
  }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(server_.options.header_bytes_max);
    const std::uint64_t whole = server_.options.body_bytes_max;
    parser_->body_limit(server_.service.plan ? std::max(whole, server_.options.stream_bytes_max)
                                             : whole);
    // One deadline for the whole request: sending a byte now and then does not extend it.
    allow(server_.options.request_time_max);
    parse_header();
  }

  void parse_header() {
    error_code error;
    std::string_view unclear;
    buffer_.consume(put_header(*parser_, buffer_.data(), error, unclear));
    if (error == http::error::need_more) return read_some(&Session::parse_header);
    if (error) return on_fault(error);
    if (!unclear.empty()) return refuse(400, unclear);
    set_pending(std::make_shared<Pending>(pending_of(parser_->get(), peer_)));
    if (const auto length = parser_->content_length()) pending_->length = *length;
    const int most = server_.options.requests_per_connection_max;
    if (most > 0 && ++served_ >= most) pending_->keep_alive = false;
    pending_->received = parser_->is_done();
    if (pending_->received) return answer();
    if (!server_.service.plan) return gather();
    plan();
  }

  void on_fault(const error_code& error) {
    const auto answer = answer_to_fault(error);
    if (!answer) return close();
    inflow_.reset();
    set_pending(nullptr);
    refuse(answer->status, answer->what);
  }

  // Sends the server's own refusal. Whatever the client still sends is not read as a request.
  void refuse(int status, std::string_view what) {
    owe_nothing();
    if (status < 500) ++server_.options.load->malformed;
    if (pending_ && !pending_->received) pending_->keep_alive = false;
    Response response = server_.options.refusal(status, what);
    if (status == 503) response.headers.emplace_back("Retry-After", "1");
    write(std::move(response));
  }

  // Runs `work` on a handler thread, and then calls `then` with its result on this thread.
  template <class Work, class Then>
  void in_pool(Work work, Then then) {
    auto tally = std::make_shared<Tally<int>>(server_.options.load, &ServerLoad::requests);
    asio::post(server_.pool, [self = this->shared_from_this(), tally, work = std::move(work),
                              then = std::move(then)]() mutable {
      auto result = work();
      asio::post(self->stream_.get_executor(),
                 [self, tally, then = std::move(then), result = std::move(result)]() mutable {
                   if (!self->closed_) then(std::move(result));
                 });
    });
  }

  bool is_full() const { return server_.options.load->requests >= server_.options.requests_max; }

  void answer() {
    if (is_full()) return refuse(503, "too many requests are waiting");
    owe_nothing();
    allow_any_time();  // making the answer has no time limit; writing it has one again
    if (!server_.options.answers_in_place) {
      return answer_at_length([&server = server_, pending = pending_] {
        return server.service.answer(pending->request);
      });
    }
    const Tally<int> tally(server_.options.load, &ServerLoad::requests);
    Answer answer = made(
        server_.options, *pending_, [this] { return server_.service.answer(pending_->request); },
        true);
    if (answer.response.later) return answer_at_length(std::move(answer.response.later));
    on_answer(std::move(answer));
  }

  template <class Make>
  void answer_at_length(Make make) {
    watch_for_departure();
    in_pool(
        [&server = server_, pending = pending_, make = std::move(make)]() -> std::optional<Answer> {
          if (!*pending->gone) return made(server.options, *pending, make);
          ++server.options.load->abandoned;
          return std::nullopt;
        },
        [this](std::optional<Answer> answer) {
          if (!answer) return close();
          on_answer(std::move(*answer));
        });
  }

  void plan() {
    if (is_full()) return refuse(503, "too many requests are waiting");
    owe_nothing();
    allow_any_time();
    auto make = [&server = server_, pending = pending_] {
      return planned(server.options, server.service, pending->request);
    };
    if (server_.options.answers_in_place) return on_plan(make());
    in_pool(std::move(make), [this](BodyPlan plan) { on_plan(std::move(plan)); });
  }

  void on_plan(BodyPlan plan) {
    if (auto* refusal = std::get_if<Response>(&plan)) {
      pending_->keep_alive = false;
      return write(std::move(*refusal));
    }
    allow(server_.options.request_time_max);
    wait_from_now();
    auto* sink = std::get_if<std::unique_ptr<BodySink>>(&plan);
    if (!sink || !*sink) return gather();
    pour(std::move(*sink));
  }

  // Reserves memory for a body within the limit for all connections.
  bool reserve(std::uint64_t bytes) {
    const std::int64_t held = server_.options.load->body_bytes;
    if (static_cast<std::uint64_t>(held) + bytes > server_.options.bodies_bytes_max) return false;
    room_.emplace(server_.options.load, &ServerLoad::body_bytes, static_cast<std::int64_t>(bytes));
    return true;
  }

  template <class Next>
  void go_on(Next next) {
    if (!pending_->go_on || buffer_.size() > 0) return (this->*next)();
    asio::async_write(
        stream_, asio::buffer(kGoOn.data(), kGoOn.size()),
        [self = this->shared_from_this(), next](const error_code& error, std::size_t) {
          if (error) return self->close();
          (self.get()->*next)();
        });
  }

  void gather() {
    const std::uint64_t most = server_.options.body_bytes_max;
    if (pending_->length.value_or(0) > most) return on_fault(http::error::body_limit);
    if (!reserve(pending_->length.value_or(most))) return refuse(503, "no memory for the body");
    go_on(&Session::read_whole);
  }

  void read_whole() {
    whole_.emplace(std::move(*parser_));
    whole_->body_limit(server_.options.body_bytes_max);
    http::async_read(stream_, buffer_, *whole_,
                     [self = this->shared_from_this()](const error_code& error, std::size_t) {
                       if (error) return self->on_fault(error);
                       self->pending_->request.body = std::move(self->whole_->get().body());
                       self->pending_->received = true;
                       self->answer();
                     });
  }

  void pour(std::unique_ptr<BodySink> sink) {
    const ServerOptions& options = server_.options;
    const std::uint64_t length = pending_->length.value_or(options.inflow_bytes);
    // If many bodies arrive at once, each gets smaller pieces.
    std::size_t piece = std::clamp<std::uint64_t>(length, 1, options.inflow_bytes);
    if (!reserve(2 * piece)) {
      piece = std::min(piece, std::min(options.piece_bytes, kEnoughBytes) / 4);
      if (!reserve(2 * piece)) return refuse(503, "no memory for the body");
    }
    inflow_ = std::make_shared<Inflow>(std::move(sink), piece, std::move(*parser_));
    inflow_->parser.body_limit(options.stream_bytes_max);
    const bool plain = std::is_same_v<Stream, PlainStream>;
    // The bytes that came with the header must fit into the first piece.
    if (plain && pending_->length && !inflow_->parser.chunked() && buffer_.size() <= piece) {
      inflow_->receive_directly(socket().native_handle(), *pending_->length);
    }
    go_on(&Session::read_piece);
  }

  // A piece has one deadline, so a client that sends single bytes is cut off in any case.
  void read_piece() {
    wait_from_now();
    inflow_->reading = true;
    allow(server_.options.piece_time_max);
    auto then = [self = this->shared_from_this(), inflow = inflow_](const error_code& error,
                                                                    std::size_t got) {
      inflow->reading = false;
      if (self->closed_) return;
      if (self->inflow_) return self->on_piece(error, got);
      if (self->lingers_) self->swallow();
    };
    if (inflow_->is_direct()) return read_plain(std::move(then));
    auto& body = inflow_->parser.get().body();
    body.data = inflow_->incoming.data();
    body.size = inflow_->incoming.size();
    http::async_read(stream_, buffer_, inflow_->parser, std::move(then));
  }

  // Receives directly into the piece, in few calls; bytes that came with the header go first.
  template <class Then>
  void read_plain(Then then) {
    Inflow& in = *inflow_;
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(in.incoming.size(), *in.left));
    in.got = asio::buffer_copy(asio::buffer(in.incoming.data(), wanted), buffer_.data());
    buffer_.consume(in.got);
    const std::size_t enough = std::min(wanted, kEnoughBytes);
    if (in.got >= enough) return then(error_code(), 0);
    asio::async_read(
        stream_, asio::buffer(in.incoming.data() + in.got, wanted - in.got),
        [before = in.got, enough, wanted](const error_code& error, std::size_t got) {
          return error || before + got >= enough ? std::size_t{0} : wanted;
        },
        std::move(then));
  }

  void on_piece(const error_code& error, std::size_t got) {
    owe_nothing();
    allow_any_time();
    if (error && error != http::error::need_buffer) return on_fault(error);
    Inflow& in = *inflow_;
    if (in.is_direct()) {
      in.got += got;
      *in.left -= in.got;
      in.last = *in.left == 0;
    } else {
      in.got = in.incoming.size() - in.parser.get().body().size;
      in.last = in.parser.is_done();
    }
    in.ready = true;
    hand_over();
  }

  void hand_over() {
    Inflow& in = *inflow_;
    if (!in.ready || in.taking) return;
    std::swap(in.incoming, in.taken);
    in.ready = false;
    in.taking = true;
    auto take = [&server = server_, pending = pending_, inflow = inflow_, got = in.got,
                 last = in.last]() -> std::optional<Answer> {
      bool more = false;
      Answer answer = made(server.options, *pending, [&]() -> Response {
        if (auto refusal = inflow->take(got, last)) return std::move(*refusal);
        more = !(inflow->is_direct() ? inflow->last : last);
        if (more) return {};
        return inflow->sink->finish();
      });
      return more ? std::nullopt : std::optional(std::move(answer));
    };
    auto then = [this](std::optional<Answer> answer) { on_taken(std::move(answer)); };
    // The handler now owns a direct body. For others the next piece is received concurrently.
    const bool more = !in.is_direct() && !in.last;
    in_pool(std::move(take), std::move(then));
    if (more) read_piece();
  }

  void on_taken(std::optional<Answer> answer) {
    if (!inflow_) return;  // the rest of the body was faulty, and the fault has been answered
    inflow_->taking = false;
    if (!answer) return inflow_->is_direct() ? read_piece() : hand_over();
    pending_->received = inflow_->last;
    if (!inflow_->last) pending_->keep_alive = false;
    reads_ = inflow_->reading ? inflow_ : nullptr;
    inflow_.reset();
    on_answer(std::move(*answer));
  }

  void on_answer(Answer answer) {
    if (answer.pump) return start_stream(std::move(answer));
    if (!answer.response.events) return write(std::move(answer.response));
    if (server_.options.load->streams >= server_.options.streams_max) {
      return refuse(503, "too many event streams are open");
    }
    start_events(std::move(answer.response));
  }

  // While the answer is being made, the only thing to watch for is that the client disconnects.
  void watch_for_departure() {
    if (watching_) return;
    watching_ = true;
    socket().async_wait(tcp::socket::wait_read,
                        [self = this->shared_from_this()](const error_code& error) {
                          self->watching_ = false;
                          if (!error && self->pending_) self->look_for_departure();
                        });
  }

  void look_for_departure() {
    char byte = 0;
    const auto got = ::recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return;  // the client has already sent its next request
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return watch_for_departure();
    *pending_->gone = true;
  }

  unsigned version() const { return pending_ ? pending_->version : 11; }

  // Sends the head, if it has not been sent yet, and `body` after it, in one call.
  template <class Then>
  void send(std::string_view body, Then then) {
    allow(server_.options.response_time_max);
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      // One buffer: Beast's TLS stream takes an empty first buffer for the end of all buffers.
      if (!text_.empty()) body = text_ += body;
      asio::async_write(stream_, asio::const_buffer(body.data(), body.size()), std::move(then));
    } else {
      const std::array<asio::const_buffer, 2> both = {asio::buffer(text_),
                                                      asio::const_buffer(body.data(), body.size())};
      asio::async_write(stream_, both, std::move(then));
    }
  }

  void write(Response from) {
    const bool head = pending_ && pending_->head;
    const Framing framing{.version = version(),
                          .keep_alive = pending_ && pending_->keep_alive && !server_.stopping,
                          .length = said_length(from, head)};
    text_ = head_text(from, server_.options, framing);
    body_ = has_body(from, head) ? std::move(from.body) : std::string();
    send(body_, [self = this->shared_from_this(), keeps = framing.keep_alive](
                    const error_code& error, std::size_t) {
      if (error) return self->close();
      self->on_written(keeps);
    });
  }

  void on_written(bool keep_alive) {
    room_.reset();
    body_ = {};
    if (!keep_alive) return close_gently();
    wait_for_request(server_.options.idle_time_max);
  }

  void start_stream(Answer answer) {
    pump_ = std::move(answer.pump);
    const bool chunked = !answer.response.length && pending_->version >= 11;
    const bool framed = answer.response.length || chunked;
    stream_keeps_ = pending_->keep_alive && framed && !server_.stopping;
    text_ = head_text(answer.response, server_.options,
                      {.version = version(),
                       .keep_alive = stream_keeps_,
                       .length = answer.response.length,
                       .chunked = chunked});
    send_piece();
  }

  // Sends one piece while the next is being made.
  void send_piece() {
    pump_->turn();
    steps_ = pump_->last() ? 1 : 2;
    if (!pump_->last()) {
      in_pool([pump = pump_] { return pump->make(), 0; }, [this](int) { on_step(); });
    }
    send(pump_->piece(),
         [self = this->shared_from_this(), pump = pump_](const error_code& error, std::size_t) {
           if (error || self->closed_) return self->close();
           self->allow_any_time();
           self->text_ = {};
           self->on_step();
         });
  }

  void on_step() {
    if (--steps_ > 0) return;
    if (pump_->failed()) return close();
    if (!pump_->last()) return send_piece();
    pump_.reset();
    on_written(stream_keeps_);
  }

  // An event stream has no known length, so it ends with the connection.
  void start_events(Response answer) {
    events_tally_.emplace(server_.options.load, &ServerLoad::streams);
    events_ = std::move(answer.events);
    send_events(head_text(answer, server_.options, {.version = version(), .keep_alive = false}));
  }

  void send_events(std::string text) {
    silent_since_ = Clock::now();
    text_ = std::move(text);
    send({}, [self = this->shared_from_this()](const error_code& error, std::size_t) {
      if (error) return self->close();
      self->allow_any_time();
      self->next_events();
    });
  }

  void next_events() {
    timer_.expires_after(server_.options.event_period);
    timer_.async_wait([self = this->shared_from_this()](const error_code& error) {
      if (error || self->server_.stopping || *self->pending_->gone) return self->close();
      std::optional<std::string> text = self->events_();
      if (!text) return self->end_events();
      const auto now = Clock::now();
      if (text->empty() && now - self->silent_since_ >= self->server_.options.event_silence_max)
        text = ":\n\n";
      if (text->empty()) return self->next_events();
      self->send_events(std::move(*text));
    });
  }

  void end_events() {
    events_tally_.reset();
    close_gently();
  }

  // Closing at once while the client still sends would reset the connection and lose the answer in
  // transit. So announce the end, and discard input until it stops or a moment has passed.
  void close_gently() {
    allow_any_time();  // the timer ends this phase
    timer_.expires_after(server_.options.linger_time_max);
    timer_.async_wait([self = this->shared_from_this()](const error_code& error) {
      if (!error) self->close();
    });
    lingers_ = true;
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      if (reads_ && reads_->reading) return shut_sending();
      stream_.async_shutdown([self = this->shared_from_this()](const error_code&) {
        if (!self->closed_) self->shut_sending();
      });
    } else {
      shut_sending();
    }
  }

  void shut_sending() {
    error_code error;
    socket().shutdown(tcp::socket::shutdown_send, error);
    if (error) return close();
    if (!reads_ || !reads_->reading) swallow();  // otherwise the pending read finishes first
  }

  void swallow() {
    buffer_.clear();
    socket().async_read_some(
        buffer_.prepare(kSwallowBytes),
        [self = this->shared_from_this()](const error_code& error, std::size_t) {
          if (error) return self->close();
          self->swallow();
        });
  }

  Stream stream_;
  std::string peer_;
  ServerParts& server_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<http::request_parser<http::string_body>> whole_;
  std::shared_ptr<Pending> pending_;  // the request being answered
  std::shared_ptr<Inflow> inflow_;    // its body, if a sink takes it
  std::shared_ptr<Inflow> reads_;     // a refused body whose next piece is still being received
  std::shared_ptr<BodyPump> pump_;    // its answer, if it comes from a source
  int steps_ = 0;                     // steps left for a piece: sending it, and making the next
  bool stream_keeps_ = false;
  int served_ = 0;
  SharedMoment waiting_since_;  // nullopt: the server is not waiting for the client
  SharedMoment deadline_;
  std::atomic<bool> has_request_ = false;
  bool watching_ = false;
  bool lingers_ = false;
  bool closed_ = false;
  asio::steady_timer timer_;
  NextEvents events_;
  std::string text_;  // a head or events, while they are being written
  std::string body_;  // a body, while it is being written
  Clock::time_point silent_since_;
  std::optional<Tally<std::int64_t>> room_;  // memory reserved for the body
  std::optional<Tally<int>> events_tally_;
  Tally<int> tally_;
};

}  // namespace

std::shared_ptr<Connection> make_session(TcpSocket socket, ServerParts& server) {
  error_code ignored;
  // Pieces are written as they are made; waiting to fill a TCP segment would delay the last one.
  socket.set_option(tcp::no_delay(true), ignored);
  const std::string peer = socket.remote_endpoint(ignored).address().to_string();
  if (!server.tls) {
    return std::make_shared<Session<PlainStream>>(std::move(socket), peer, server);
  }
  return std::make_shared<Session<TlsStream>>(TlsStream(std::move(socket), *server.tls), peer,
                                              server);
}

}  // namespace orrery::net
