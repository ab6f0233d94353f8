#!/bin/sh
# Check for system packages that pip cannot install. Install them with apt if permitted, else print the command to run.
#
#   system_packages.sh build [PYTHON]   ICU headers, pkg-config, a C++ compiler, PYTHON's headers and venv;
#                                       needed to compile PyICU, which polyglot requires
#   system_packages.sh java             Java runtime 17 or later, for PySpark
#   system_packages.sh browser          Chromium, for the browser tests
#
# Exit status: 0 if nothing is missing (any more), else 1.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

python_has() { # python_has MODULE|headers
    if [ "$1" = headers ]; then
        "$python" -c 'import os, sysconfig as s; open(os.path.join(s.get_path("include"), "Python.h")).close()'
    else
        "$python" -c "import $1"
    fi >/dev/null 2>&1
}

java_is_recent() {
    version=$(java -version 2>&1) || return 1
    major=$(printf '%s\n' "$version" | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
    [ "${major:-0}" -ge 17 ]
}

# What is missing, and the packages that provide it for each package manager.
missing='' apt='' dnf='' brew='' conda=''
add() { # add WHAT APT DNF BREW CONDA; "-" if no extra package is needed
    missing="${missing:+$missing, }$1"
    [ "$2" = - ] || apt="$apt $2"
    [ "$3" = - ] || dnf="$dnf $3"
    [ "$4" = - ] || brew="$brew $4"
    [ "$5" = - ] || conda="$conda $5"
}

check_build_tools() {
    if ! has pkg-config; then
        # ICU cannot be detected without pkg-config, so request its headers too.
        add pkg-config pkg-config pkgconf-pkg-config pkgconf pkg-config
        add "ICU's headers" libicu-dev libicu-devel icu4c icu
    elif ! pkg-config --exists icu-i18n; then
        add "ICU's headers" libicu-dev libicu-devel icu4c icu
    fi
    if ! has "${CXX:-c++}" && ! has g++ && ! has clang++; then
        add 'a C++ compiler' g++ gcc-c++ gcc cxx-compiler
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    python_has headers || add "Python's headers" "python$version-dev" "python$version-devel" "python@$version" -
    python_has ensurepip || add "Python's venv" "python$version-venv" "python$version" "python@$version" -
}

check_java() {
    # Ubuntu 22.04 needs the package named 17, because its default is 11; releases after Debian 12 have no such package.
    runtime=default-jre-headless
    if has apt-cache && apt-cache show openjdk-17-jre-headless >/dev/null 2>&1; then
        runtime=openjdk-17-jre-headless
    fi
    java_is_recent || add 'a Java runtime, 17 or later' "$runtime" java-17-openjdk-headless openjdk@17 'openjdk=17'
}

check_browser() {
    has chromium || has chromium-browser || has google-chrome ||
        add 'Chromium' chromium chromium '--cask chromium' -
}

install_with_apt() {
    sudo=''
    if [ "$(id -u)" != 0 ]; then
        { has sudo && sudo -n true 2>/dev/null; } || return 1
        sudo='sudo -n'
    fi
    echo "Missing: $missing. Installing:$apt"
    # Word splitting is intended: $sudo may be empty, and $apt is a list of packages.
    # shellcheck disable=SC2086
    $sudo apt-get update -qq &&
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $apt >/dev/null
}

print_command() {
    {
        echo "Missing: $missing. Install with:"
        if [ -n "${CONDA_PREFIX:-}" ] && has conda && [ -n "$conda" ]; then
            echo "  conda install -c conda-forge$conda"
        elif has apt-get; then
            echo "  sudo apt-get install -y$apt"
        elif has dnf; then
            echo "  sudo dnf install -y$dnf"
        elif has brew; then
            echo "  brew install$brew"
        elif has conda && [ -n "$conda" ]; then
            echo "  conda install -c conda-forge$conda"
        else
            echo "  sudo apt-get install -y$apt   (Debian, Ubuntu)"
            echo "  sudo dnf install -y$dnf   (Fedora, RHEL)"
            echo "  brew install$brew   (macOS)"
            echo "  conda install -c conda-forge$conda   (conda)"
        fi
        echo "Then run the command again."
    } >&2
}

what=${1:?build, java or browser}
python=${2:-python3}
check() {
    missing='' apt='' dnf='' brew='' conda=''
    case $what in
        build) check_build_tools ;;
        java) check_java ;;
        browser) check_browser ;;
        *) echo "$0: unknown argument '$what': use build, java or browser" >&2; exit 2 ;;
    esac
}

check
[ -n "$missing" ] || exit 0
if has apt-get && install_with_apt; then
    check
    [ -n "$missing" ] || exit 0
fi
print_command
exit 1
