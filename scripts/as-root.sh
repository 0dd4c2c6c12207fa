# Sourced: run a command as root, or say which one the person has to run.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        DEBIAN_FRONTEND=noninteractive "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo DEBIAN_FRONTEND=noninteractive "$@"
    else
        echo "Please run as root, then try again: $*" >&2
        exit 1
    fi
}
