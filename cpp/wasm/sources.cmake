# What sparsecrf.wasm was built from, as one digest in a file beside it, sparsecrf.wasm.sources: a labeller of other
# sources than those of the package must not get into it. CMakeLists.txt includes this file; as a script it writes:
#
#   cmake -DROOT=SOURCES -DWASM=FILE -P sources.cmake
cmake_minimum_required(VERSION 3.26)

# The digest of the sources below `root`: what labels, the interface, the flags, the version. Line ends do not count, as
# file(READ) leaves out carriage returns.
function(sparsecrf_wasm_digest root result)
    file(GLOB_RECURSE files RELATIVE ${root} ${root}/cpp/core/*.[chi]* ${root}/cpp/c/*.[ch]*)
    list(FILTER files EXCLUDE REGEX "/core/training/")
    list(SORT files)
    file(STRINGS ${root}/pyproject.toml text REGEX "^version = ")
    foreach(name ${files} cpp/wasm/CMakeLists.txt CMakeLists.txt)
        file(READ ${root}/${name} content)
        string(SHA256 digest "${content}")
        string(APPEND text "\n${digest} ${name}")
    endforeach()
    string(SHA256 digest "${text}")
    set(${result} ${digest} PARENT_SCOPE)
endfunction()

# Installs the file `wasm` into the Python package if it was built from the sources below `root`. Otherwise it is left out,
# with a warning; if it is `required`, the installation fails.
function(sparsecrf_install_wasm root wasm required)
    set(found "no file")
    if(EXISTS ${wasm})
        set(found "no digest beside it")
        if(EXISTS ${wasm}.sources)
            file(READ ${wasm}.sources found)
        endif()
    elseif(NOT required)
        return()
    endif()
    sparsecrf_wasm_digest(${root} expected)
    if(found STREQUAL expected)
        file(INSTALL ${wasm} DESTINATION ${CMAKE_INSTALL_PREFIX}/sparsecrf/contrib/report/page)
    elseif(required)
        message(FATAL_ERROR "${wasm}: expected one of the sources ${expected}, found ${found}. `make wasm` builds it.")
    else()
        message(WARNING "${wasm}: expected one of the sources ${expected}, found ${found}. It is left out, and "
                        "`sparsecrf report --try` with it. `make wasm` builds it again.")
    endif()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    sparsecrf_wasm_digest(${ROOT} digest)
    file(WRITE ${WASM}.sources ${digest})
endif()
