// The object store with third-party clients: each copies a tree with unusual names, a multipart
// object and many keys there and back, and the result must be equal. Clients that are not installed
// are skipped. npm installs the AWS SDK for JavaScript (js_client/) into the build folder, once; it
// is skipped if npm cannot do this.
//
// ORRERY_FULL=1: 200 MB in parts and 5,000 keys.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "live/agent/test_folder.h"
#include "store_process.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

bool is_full() { return std::getenv("ORRERY_FULL") != nullptr; }

// Names that a client, a URL, a signature or XML may get wrong.
constexpr const char* kOddNames[] = {"plain.txt",
                                     "with space.txt",
                                     "ünïcödé/日本語.txt",
                                     "a+b.txt",
                                     "100%.txt",
                                     "q?x=1&y=2.txt",
                                     "it's.txt",
                                     "[square].txt",
                                     "tilde~.txt",
                                     "se;mi",
                                     "hash#tag",
                                     "..two/...dots",
                                     "behind /x",
                                     "star*",
                                     "dollar$",
                                     "at@",
                                     "equals=and",
                                     "comma,",
                                     "%2F",
                                     "%41",
                                     "<xml>&amp;",
                                     "quote\"",
                                     "plus+ and",
                                     "emoji-😀"};

void make_tree(const agent::TestFolder& folder) {
  for (const char* name : kOddNames) folder.write(std::string("tree/odd/") + name, name);
  std::string big;
  std::mt19937_64 random(9);
  for (std::size_t i = 0; i < (std::size_t{is_full() ? 200u : 24u} << 20) / 8; ++i) {
    const std::uint64_t word = random();
    big.append(reinterpret_cast<const char*>(&word), 8);
  }
  folder.write("tree/big.bin", big);
  for (int i = 0; i < (is_full() ? 5000 : 60); ++i) {
    folder.write("tree/many/" + std::to_string(i), "number " + std::to_string(i));
  }
}

std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    all[fs::relative(entry.path(), folder).string()] = bytes.str();
  }
  return all;
}

struct S3Program {
  const char* name;
  const char* present;  // a command that succeeds if the client is installed
  // HERE is the tree, BACK the folder that it is copied back to, AT is HOST:PORT.
  const char* commands;
};

constexpr const char* kBoto = R"(python3 - <<'END'
import boto3, os, concurrent.futures as cf
from boto3.s3.transfer import TransferConfig
s3 = boto3.client('s3', endpoint_url='http://AT', region_name='us-east-1')
parts = TransferConfig(multipart_chunksize=8 << 20, multipart_threshold=8 << 20)
def names():
    for folder, _, files in os.walk('HERE'):
        for f in files: yield os.path.relpath(os.path.join(folder, f), 'HERE')
with cf.ThreadPoolExecutor(4) as e:
    list(e.map(lambda n: s3.upload_file(os.path.join('HERE', n), 'bucket', 'boto/' + n, Config=parts), names()))
keys = [o['Key'] for page in s3.get_paginator('list_objects_v2').paginate(Bucket='bucket', Prefix='boto/')
        for o in page['Contents']]
def back(key):
    to = os.path.join('BACK', key[5:])
    os.makedirs(os.path.dirname(to), exist_ok=True)
    s3.download_file('bucket', key, to, Config=parts)
with cf.ThreadPoolExecutor(4) as e: list(e.map(back, keys))
END)";

// Installed according to the lock file, by node 20 or later.
constexpr const char* kJsPresent =
    "to=" ORRERY_BINARY_DIR
    "/js_client; mkdir -p $to && cd $to && "
    "cp " ORRERY_SOURCE_DIR
    "/tests/js_client/*.* . && "
    "node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' && "
    "{ cmp -s package-lock.json installed || { "
    "timeout 120 npm ci --fetch-retries=1 --fetch-timeout=20000 && "
    "cp package-lock.json installed; }; }";

const S3Program kPrograms[] = {
    {"rclone", "rclone version",
     "export RCLONE_CONFIG_X_TYPE=s3 RCLONE_CONFIG_X_PROVIDER=Other RCLONE_CONFIG_X_ENV_AUTH=true "
     "RCLONE_CONFIG_X_ENDPOINT=http://AT RCLONE_CONFIG=/dev/null\n"
     "rclone copy HERE X:bucket/rclone --s3-chunk-size 8M --s3-upload-cutoff 8M\n"
     "rclone copy X:bucket/rclone BACK"},
    {"s3cmd", "s3cmd --version",
     "to='--config /dev/null --no-ssl --host=AT --host-bucket=AT --access_key=test "
     "--secret_key=secret --multipart-chunk-size-mb=8 --no-progress'\n"
     "s3cmd $to sync HERE/ s3://bucket/s3cmd/\n"
     "s3cmd $to sync s3://bucket/s3cmd/ BACK/"},
    {"aws", "aws --version",
     "aws --endpoint-url http://AT s3 sync HERE s3://bucket/aws --only-show-errors\n"
     "aws --endpoint-url http://AT s3 sync s3://bucket/aws BACK --only-show-errors"},
    {"boto3", "python3 -c 'import boto3'", kBoto},
    {"js", kJsPresent, "node $BUILD/js_client/client.mjs http://AT HERE BACK"},
};

class StoreClients : public testing::TestWithParam<S3Program> {};

TEST_P(StoreClients, a_tree_is_equal_after_a_round_trip) {
  const S3Program& program = GetParam();
  const std::string quiet = "( " + std::string(program.present) + " ) > /dev/null 2>&1";
  if (std::system(quiet.c_str()) != 0) GTEST_SKIP() << program.name << " is not installed";
  const agent::TestFolder folder(agent::folder_on_disk());
  make_tree(folder);
  fs::create_directories(folder.at("back"));
  StoreProcess store({folder.at("store"), "--port", "0"});
  ASSERT_NE(store.address(), "") << store.said();
  ASSERT_TRUE(client_of(store.address()).create_bucket());
  std::string commands = program.commands;
  const std::pair<std::string, std::string> words[] = {
      {"HERE", folder.at("tree")},
      {"BACK", folder.at("back")},
      {"AT", store.address().substr(store.address().find("//") + 2)}};
  for (const auto& [word, meant] : words) {
    for (auto at = commands.find(word); at != commands.npos; at = commands.find(word, at)) {
      commands.replace(at, word.size(), meant);
      at += meant.size();
    }
  }
  folder.write("commands",
               "set -e\nunset AWS_CA_BUNDLE AWS_PROFILE\nexport AWS_ACCESS_KEY_ID=test "
               "AWS_SECRET_ACCESS_KEY=secret "
               "AWS_DEFAULT_REGION=us-east-1 AWS_CONFIG_FILE=/dev/null "
               "BUILD=" ORRERY_BINARY_DIR "\n" +
                   commands + '\n');
  const std::string run =
      "bash " + folder.at("commands") + " > " + folder.at("said") + " 2>&1 < /dev/null";
  EXPECT_EQ(std::system(run.c_str()), 0) << contents(folder.path())["said"];
  const auto sent = contents(folder.at("tree"));
  const auto back = contents(folder.at("back"));
  EXPECT_EQ(sent.size(), back.size());
  for (const auto& [name, bytes] : sent) {
    ASSERT_TRUE(back.contains(name)) << name;
    EXPECT_TRUE(back.at(name) == bytes) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, StoreClients, testing::ValuesIn(kPrograms),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace orrery
