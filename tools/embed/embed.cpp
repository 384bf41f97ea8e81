// embed DIR OUT.cpp: writes every file below DIR into OUT.cpp as string literals, sorted by path.
// The result defines orrery::embedded_files() of src/catalog/embedded.h.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

// Compilers must accept literals of 65,536 characters; adjacent ones are joined, so each is kept
// short.
constexpr std::size_t kLiteralBytes = 8192;

std::string escaped(std::string_view text) {
  static constexpr char kOctal[] = "01234567";
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\' || c == '?') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u >= 0x7f) {
      out += '\\';
      out += kOctal[u >> 6];
      out += kOctal[(u >> 3) & 7];
      out += kOctal[u & 7];
    } else {
      out += c;
    }
  }
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 3) {
    std::cerr << "usage: embed DIR OUT.cpp\n";
    return 2;
  }
  const fs::path root = argv[1];
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root));
  }
  std::sort(files.begin(), files.end());

  std::ofstream out(argv[2], std::ios::binary);
  out << "#include \"catalog/embedded.h\"\n\n#include <array>\n\n"
         // clang counts the joined literal; both compilers take far longer ones.
         "#ifdef __clang__\n#pragma clang diagnostic ignored \"-Woverlength-strings\"\n#endif\n\n"
         "namespace orrery {\nnamespace {\n";
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string text = read(root / files[i]);
    out << "constexpr char kFile" << i << "[] =\n    \"\"";
    for (std::size_t at = 0; at < text.size(); at += kLiteralBytes) {
      out << "\n    \"" << escaped(std::string_view(text).substr(at, kLiteralBytes)) << '"';
    }
    out << ";\n";
  }
  out << "constexpr std::array<EmbeddedFile, " << files.size() << "> kFiles = {{\n";
  for (std::size_t i = 0; i < files.size(); ++i) {
    out << "    {\"" << escaped(files[i].generic_string()) << "\", {kFile" << i << ", sizeof(kFile"
        << i << ") - 1}},\n";
  }
  out << "}};\n}  // namespace\n\n"
         "std::span<const EmbeddedFile> embedded_files() { return kFiles; }\n\n}  // namespace "
         "orrery\n";
  out.flush();
  return out ? 0 : 1;
}
