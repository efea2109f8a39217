#!/bin/sh
# The last step of the image: links to the users, and folders for PATH that hold tools but no
# Python, no Perl and no other shell.
set -eu

dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' | sort > /opt/packages.txt

# The runner adds its users, whose ids differ from container to container.
for file in passwd group; do
    cp "/etc/$file" /opt/fluency/
    mv "/etc/$file" "/home/.$file"
    ln -s "/home/.$file" "/etc/$file"
done
# The engine makes the missing mount points of world, HOME and /tmp: each a fresh tmpfs.
mkdir -p /opt/everywhere /opt/tools/bin

# Every shell's commands find the same tools and that shell, and no other. SHELLS: words of the form
# name=program.
for shell in $SHELLS; do
    program="${shell#*=}" folder="/opt/tools/${shell%%=*}"
    mkdir "$folder"
    [ ! -x "$program" ] || ln -s "$program" "$folder/"
done
shell_programs=" $(dpkg -L $SHELL_PACKAGES | sed -n 's|.*/s\?bin/||p' | tr '\n' ' ')"
for tool in /usr/bin/* /usr/sbin/*; do
    name="$(basename "$tool")"
    case "$name" in
        python* | pydoc* | pygettext* | py3* | perl*) continue ;;
    esac
    case "$shell_programs" in
        *" $name "*) continue ;;
    esac
    [ ! -x "$tool" ] || ln -sfn "$tool" "/opt/tools/bin/$name"
done

# Only the runner may use Python. Perl is needed by package scripts alone, and no more packages are
# installed.
mv "$(readlink -f /usr/bin/python3)" /opt/fluency/python3
rm -f /usr/bin/python3* /usr/bin/pydoc3* /usr/bin/py3* /usr/bin/pygettext3* /usr/bin/perl*
for tool in /opt/tools/bin/*; do
    # Scripts in Perl or Python would only fail with a confusing message.
    if head -c 64 "$tool" 2>/dev/null | head -n 1 | grep -aqE '^#!.*(perl|python)'; then
        rm -f "$(readlink -f "$tool")" "$tool"
    fi
done
find -L /opt/tools/bin -type l -delete
# Without Unix tools git stays: Windows has it, too.
ln -s /usr/bin/git /opt/everywhere/
# Checked by content hash, not by time: the same sources compile to the same files in every build.
/opt/fluency/python3 -I -S -c '
import compileall, py_compile
mode = py_compile.PycInvalidationMode.CHECKED_HASH
compileall.compile_dir("/opt/fluency", quiet=1, invalidation_mode=mode)
'
chown -R 0:0 /opt
chmod 0755 /opt /opt/helper /opt/helper/helper /opt/everywhere
chmod -R go= /opt/fluency
chmod 0700 /opt/fluency

# Podman mounts its own file systems there, with the modes it finds in the image.
chmod 0755 /var/tmp /run/lock
find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
