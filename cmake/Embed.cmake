# cmake -DNAME=weft_js -DFILE=page/weft.js -DNAMESPACE=weft::web::embedded -DHEADER=… -DOUTPUT=weft_js.cpp -P Embed.cmake: a source that holds the bytes of a file.
file(READ "${FILE}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((....,){24})" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"
namespace ${NAMESPACE} {
static constexpr unsigned char k_${NAME}[] = {${bytes}0};
std::string_view ${NAME}() { return {reinterpret_cast<const char*>(k_${NAME}), sizeof k_${NAME} - 1}; }
}  // namespace ${NAMESPACE}
")
