// A round trip over TLS with a certificate that the test makes, and what must not pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "live/net/client.h"
#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net {
namespace {

using namespace std::chrono_literals;

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

// Signed by itself, good for an hour and for one name.
TlsIdentity identity_for(const char* name) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
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
  options.linger_time_max = 30s;  // who ends in order is not waited for
  return options;
}

class CountingSink : public BodySink {
 public:
  std::optional<Response> take(std::string_view piece) override {
    bytes_ += piece.size();
    return std::nullopt;
  }
  Response finish() override { return {.body = std::to_string(bytes_)}; }

 private:
  std::size_t bytes_ = 0;
};

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
          .plan = [](const Request&) -> BodyPlan { return std::make_unique<CountingSink>(); }};
}

TEST(Tls, bodies_go_both_ways_over_one_verified_connection) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  const RunningServer server(counts_and_echoes(), options_with(identity));
  Client client({.trusted = identity.certificate});
  const Reply hello = client.ask({.url = server.url("/a", "https")});
  EXPECT_EQ(hello.body, "hello /a") << hello.fault_text;
  const std::string large(5'000'000, 'y');
  const Reply up = client.ask({.method = "PUT", .url = server.url("/b", "https"), .body = large});
  EXPECT_EQ(up.body, "5000000") << up.fault_text;
  EXPECT_EQ(client.ask({.url = server.url("/large", "https")}).body.size(), 3'000'000u);
  EXPECT_EQ(server.load->connections, 1);
  const Reply last =
      client.ask({.url = server.url("/z", "https"), .headers = {{"Connection", "close"}}});
  EXPECT_EQ(last.body, "hello /z");
  for (int i = 0; i < 2000 && server.load->connections > 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(server.load->connections, 0);
}

TEST(Tls, a_stranger_and_a_wrong_name_are_refused) {
  const TlsIdentity identity = identity_for("IP:127.0.0.1");
  const RunningServer server(counts_and_echoes(), options_with(identity));
  EXPECT_EQ(Client().ask({.url = server.url("/", "https")}).fault, NetFault::not_sent);
  const TlsIdentity other = identity_for("DNS:elsewhere.example");
  const RunningServer elsewhere(counts_and_echoes(), options_with(other));
  Client client({.trusted = other.certificate});
  EXPECT_EQ(client.ask({.url = elsewhere.url("/", "https")}).fault, NetFault::not_sent);
}

TEST(Tls, who_does_not_shake_hands_is_cut_off) {
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

TEST(Tls, a_key_that_is_not_the_certificates_is_a_fault) {
  TlsIdentity identity = identity_for("IP:127.0.0.1");
  identity.key = identity_for("IP:127.0.0.1").key;
  const auto server = Server::listen(options_with(identity), counts_and_echoes());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().front().code, "serve.tls");
  EXPECT_FALSE(Server::listen(options_with({"no", "pem"}), counts_and_echoes()));
}

}  // namespace
}  // namespace orrery::net
