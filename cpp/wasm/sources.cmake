# The digest of the sources of sparsecrf.wasm, stored next to it in sparsecrf.wasm.sources, so that the package never
# contains a library built from other sources. CMakeLists.txt includes this file; run as a script, it writes the digest:
#
#   cmake -DROOT=SOURCES -DWASM=FILE -P sources.cmake
cmake_minimum_required(VERSION 3.26)

# The digest of the sources below `root`: the core without training, the C interface, the build files and the version.
# Line endings do not matter, because file(READ) drops carriage returns.
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

# Installs the file `wasm` into the Python package if it was built from the sources below `root`. Otherwise warns and
# leaves it out or, if it is `required`, fails.
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
