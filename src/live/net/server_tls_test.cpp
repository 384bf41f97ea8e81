// Server and client over TLS, with certificates that the test creates, and peers that they must
// refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <memory>
#include <thread>

#include "live/net/client.h"
#include "live/net/patient_fixture.h"

namespace orrery::net::server_tls_tests {
namespace {

using namespace std::chrono_literals;

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

// A self-signed certificate for one name, valid from two hours ago until `until_s` from now.
TlsIdentity identity_for(const char* name, long until_s = 3600) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), until_s);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, const_cast<char*>(name));
  X509_add_ext(certificate, names, -1);
  X509_sign(certificate, key, EVP_sha256());
  BIO* certificate_text = BIO_new(BIO_s_mem());
  BIO* key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_EXTENSION_free(names);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {text_of(certificate_text), text_of(key_text)};
}

ServerOptions options_with(const TlsIdentity& identity) {
  ServerOptions options = test_options();
  options.tls = identity;
  options.linger_time_max = 30s;  // does not delay the test if the client closes properly
  return options;
}

Service counts_and_echoes() {
  return {.answer =
              [](const Request& request) {
                if (request.target != "/large") return Response{.body = "hello " + request.target};
                const BodySource source = [](std::uint64_t, std::span<char> into) {
                  std::ranges::fill(into, 'x');
                  return std::optional(into.size());
                };
                return Response{.source = source, .length = 3'000'000};
              },
          .plan = [](const Request&) -> BodyPlan {
            return std::make_unique<patience::CountingSink>();
          }};
}

TEST(ServerTls, bodies_go_both_ways_over_one_verified_connection) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  const RunningServer server(counts_and_echoes(), options_with(identity));
  Client client({.trusted = identity.certificate});
  const Reply hello = client.ask({.url = server.url("/a", "https")});
  EXPECT_EQ(hello.body, "hello /a") << hello.fault_text;
  const std::string large(5'000'000, 'y');
  const Reply up = client.ask({.method = "PUT", .url = server.url("/b", "https"), .body = large});
  EXPECT_EQ(up.body, "5000000 taken;") << up.fault_text;
  EXPECT_EQ(client.ask({.url = server.url("/large", "https")}).body.size(), 3'000'000u);
  EXPECT_EQ(server.load->connections, 1);
  const Reply last =
      client.ask({.url = server.url("/z", "https"), .headers = {{"Connection", "close"}}});
  EXPECT_EQ(last.body, "hello /z");
  for (int i = 0; i < 2000 && server.load->connections > 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(server.load->connections, 0);
}

TEST(ServerTls, client_refuses_an_unknown_signer_and_a_wrong_name) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  const RunningServer server(counts_and_echoes(), options_with(identity));
  EXPECT_EQ(Client().ask({.url = server.url("/", "https")}).fault, NetFault::untrusted);
  const TlsIdentity other = identity_for("DNS:elsewhere.example");
  const RunningServer elsewhere(counts_and_echoes(), options_with(other));
  Client client({.trusted = other.certificate});
  const Reply refused = client.ask({.url = elsewhere.url("/", "https")});
  EXPECT_EQ(refused.fault, NetFault::untrusted);
  EXPECT_THAT(refused.fault_text, testing::HasSubstr("127.0.0.1"));
}

TEST(ServerTls, client_refuses_an_expired_certificate) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1", -60);
  std::atomic<int> received = 0;
  const RunningServer server(
      [&received](const Request&) {
        ++received;
        return Response{};
      },
      options_with(identity));
  Client client({.trusted = identity.certificate});
  const Reply refused = client.ask({.method = "PUT", .url = server.url("/", "https"), .body = "x"});
  EXPECT_EQ(refused.fault, NetFault::untrusted);
  EXPECT_EQ(received, 0);
}

// A plain OpenSSL peer whose highest TLS version a test sets.
class OldPeer {
 public:
  OldPeer(const SSL_METHOD* method, int version_max) : context_(SSL_CTX_new(method)) {
    SSL_CTX_set_security_level(context_, 0);  // the default level forbids old TLS versions
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, version_max);
  }
  ~OldPeer() { SSL_CTX_free(context_); }
  OldPeer(const OldPeer&) = delete;
  OldPeer& operator=(const OldPeer&) = delete;

  void use(const TlsIdentity& identity) {
    BIO* text = BIO_new_mem_buf(identity.certificate.data(), -1);
    X509* certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    BIO_free(text);
    text = BIO_new_mem_buf(identity.key.data(), -1);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
    BIO_free(text);
    SSL_CTX_use_certificate(context_, certificate);
    SSL_CTX_use_PrivateKey(context_, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  bool shakes_hands(int socket, bool serves) {
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, socket);
    const bool done = (serves ? SSL_accept(ssl) : SSL_connect(ssl)) == 1;
    SSL_free(ssl);
    return done;
  }

 private:
  SSL_CTX* context_;
};

TEST(ServerTls, server_speaks_tls_1_2_or_later) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  const RunningServer server(counts_and_echoes(), options_with(identity));
  for (const auto& [version, taken] : std::vector<std::pair<int, bool>>{
           {TLS1_VERSION, false}, {TLS1_1_VERSION, false}, {TLS1_2_VERSION, true}}) {
    OldPeer peer(TLS_client_method(), version);
    const TestSocket socket = TestSocket::to(server.port);
    EXPECT_EQ(peer.shakes_hands(socket.fd(), false), taken) << version;
  }
}

TEST(ServerTls, client_speaks_tls_1_2_or_later) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  for (const auto& [version, taken] : std::vector<std::pair<int, bool>>{
           {TLS1_VERSION, false}, {TLS1_1_VERSION, false}, {TLS1_2_VERSION, true}}) {
    const TestListener listener;
    bool shook = false;
    std::thread server([&, most = version] {
      const TestSocket socket = listener.accept(10);
      OldPeer peer(TLS_server_method(), most);
      peer.use(identity);
      shook = peer.shakes_hands(socket.fd(), true);
    });
    Client client({.connect_s = 5, .trusted = identity.certificate});
    const Reply reply =
        client.ask({.url = "https://127.0.0.1:" + std::to_string(listener.port()) + "/"});
    server.join();
    EXPECT_EQ(shook, taken) << version;
    EXPECT_NE(reply.fault, NetFault::none) << "nothing answers after the handshake";
    if (!taken) EXPECT_EQ(reply.fault, NetFault::not_sent) << version << reply.fault_text;
  }
}

// An attacker in between must not be able to lead the client away from TLS.
TEST(ServerTls, client_is_not_redirected_to_plain_http) {
  std::atomic<int> received = 0;
  const RunningServer plain(
      [&received](const Request&) {
        ++received;
        return Response{};
      },
      test_options());
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  const RunningServer server(
      [&plain](const Request&) {
        return Response{.status = 307, .headers = {{"Location", plain.url("/stolen")}}};
      },
      options_with(identity));
  Client client({.trusted = identity.certificate});
  const HeaderList secret = {{"Authorization", "secret"}};
  EXPECT_EQ(client.ask({.url = server.url("/a", "https"), .headers = secret}).status, 307);
  const Reply cut = client.ask({.url = plain.url("/a", "https"), .headers = secret});
  EXPECT_EQ(cut.fault, NetFault::not_sent) << cut.fault_text;
  EXPECT_EQ(received, 0);
}

TEST(ServerTls, peer_without_a_handshake_is_cut_off) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  const RunningServer server(counts_and_echoes(), options_with(identity));
  const TestSocket plain = TestSocket::to(server.port);
  plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.rest().find("HTTP/1.1"), std::string::npos);
  const TestSocket silent = TestSocket::to(server.port);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(silent.rest(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
  Client client({.trusted = identity.certificate});
  EXPECT_EQ(client.ask({.url = server.url("/a", "https")}).status, 200);
}

TEST(ServerTls, key_of_another_certificate_is_a_fault) {
  TlsIdentity identity = identity_for("IP:127.0.0.1");
  identity.key = identity_for("IP:127.0.0.1").key;
  const auto server = Server::listen(options_with(identity), counts_and_echoes());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().front().code, "serve.tls");
  EXPECT_FALSE(Server::listen(options_with({"no", "pem"}), counts_and_echoes()));
}

}  // namespace
}  // namespace orrery::net::server_tls_tests
