#include "sluice/platform/plugin/library_note.h"

#include <cstring>
#include <fstream>
#include <vector>

#include <elf.h>

#include "sluice/platform/plugin/plugin_file.h"

namespace sluice {
namespace {

bool Read(std::ifstream& file, uint64_t offset, void* to, size_t bytes) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(
      file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
}

// Note segments are small, but a malformed header may state any size.
constexpr uint64_t kMostNoteBytes = uint64_t{1} << 20;

// Finds the note in the bytes of one segment. Names and contents are aligned to
// `alignment`, which is 4, or 8 in segments that say so.
std::string FindNote(const std::vector<char>& notes,
                     uint64_t alignment,
                     std::string_view name,
                     uint32_t type) {
  const auto align = [&](uint64_t offset) {
    return (offset + alignment - 1) / alignment * alignment;
  };
  uint64_t at = 0;
  Elf64_Nhdr header{};
  while (at + sizeof(header) <= notes.size()) {
    std::memcpy(&header, notes.data() + at, sizeof(header));
    const uint64_t name_at = at + sizeof(header);
    const uint64_t text_at = align(name_at + header.n_namesz);
    if (text_at + header.n_descsz > notes.size()) return "";
    const std::string_view found(notes.data() + name_at, header.n_namesz);
    if (header.n_type == type && found.substr(0, found.find('\0')) == name) {
      const std::string_view text(notes.data() + text_at, header.n_descsz);
      return std::string(text.substr(0, text.find('\0')));
    }
    at = align(text_at + header.n_descsz);
  }
  return "";
}

}  // namespace

std::string ReadLibraryNote(const std::string& path,
                            std::string_view name,
                            uint32_t type) {
  CheckSharedLibrary(path, "kernel library");
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!Read(file, 0, &header, sizeof(header))) return "";
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!Read(file, header.e_phoff + i * sizeof(segment), &segment,
              sizeof(segment))) {
      return "";
    }
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes) {
      continue;
    }
    std::vector<char> notes(segment.p_filesz);
    if (!Read(file, segment.p_offset, notes.data(), notes.size())) return "";
    std::string text =
        FindNote(notes, segment.p_align == 8 ? 8 : 4, name, type);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace sluice
