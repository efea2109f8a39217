#!/bin/sh
# The last step of the image: users, and a PATH that holds tools but no Python, no Perl and only the arm's own shell.
set -eu

dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' | sort > /opt/packages.txt

python3 -I -S -c '
import sys
sys.path.insert(0, "/opt/fluency")
from processes import USERS
with open("/etc/passwd", "a") as passwd, open("/etc/group", "a") as group:
    for name, (number, home) in USERS.items():
        passwd.write(f"{name}:x:{number}:{number}::{home}:/usr/sbin/nologin\n")
        group.write(f"{name}:x:{number}:\n")
'
# The engine makes what is missing of the mount points for world, HOME and /tmp: a fresh tmpfs each time.
mkdir -p /opt/empty /opt/tools/bin

# Every arm finds the same tools, its own shell, and nothing of another's. SHELLS: name=program, one a word.
for shell in $SHELLS; do
    program="${shell#*=}" folder="/opt/tools/${shell%%=*}"
    mkdir "$folder"
    [ ! -x "$program" ] || ln -s "$program" "$folder/"
done
of_shells=" $(dpkg -L $SHELL_PACKAGES | sed -n 's|.*/s\?bin/||p' | tr '\n' ' ')"
for tool in /usr/bin/* /usr/sbin/*; do
    name="$(basename "$tool")"
    case "$name" in
        python* | pydoc* | pygettext* | py3* | perl*) continue ;;
    esac
    case "$of_shells" in
        *" $name "*) continue ;;
    esac
    [ ! -x "$tool" ] || ln -sfn "$tool" "/opt/tools/bin/$name"
done

# The runner's Python is for the runner alone. Perl serves only package scripts, and no package is installed any more.
mv "$(readlink -f /usr/bin/python3)" /opt/fluency/python3
rm -f /usr/bin/python3* /usr/bin/pydoc3* /usr/bin/py3* /usr/bin/pygettext3* /usr/bin/perl*
for tool in /opt/tools/bin/*; do
    # Scripts of the two would only fail in a confusing way.
    if head -c 64 "$tool" 2>/dev/null | head -n 1 | grep -aqE '^#!.*(perl|python)'; then rm -f "$(readlink -f "$tool")" "$tool"; fi
done
# By their content and not their times: the same sources compile to the same files in every build.
/opt/fluency/python3 -I -S -c '
import compileall, py_compile
compileall.compile_dir("/opt/fluency", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
'
chown -R 0:0 /opt
chmod 0755 /opt /opt/helper /opt/helper/helper /opt/empty
chmod -R go= /opt/fluency
chmod 0700 /opt/fluency

# Podman puts file systems of its own there, with the modes it finds here.
chmod 0755 /var/tmp /run/lock
find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
