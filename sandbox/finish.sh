#!/bin/sh
# The last step of the image: users, and a PATH that holds tools but no Python, no Perl and only the arm's own shell.
set -eu

dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' | sort > /opt/packages.txt

cat >> /etc/passwd <<'USERS'
agent:x:10001:10001::/home/agent:/usr/sbin/nologin
vox:x:10002:10002::/:/usr/sbin/nologin
web:x:10003:10003::/:/usr/sbin/nologin
USERS
printf 'agent:x:10001:\nvox:x:10002:\nweb:x:10003:\n' >> /etc/group
# World, HOME and /tmp are mount points: a fresh tmpfs each time.
mkdir -p /work /home/agent /opt/empty /opt/tools/bin /opt/tools/bash /opt/tools/pwsh

# Both arms find the same tools, and each finds its own shell and not the other's.
for tool in /usr/bin/* /usr/sbin/*; do
    case "$(basename "$tool")" in
        python* | pydoc* | pygettext* | py3* | perl* | bash | rbash | bashbug | clear_console) ;;
        *) [ -x "$tool" ] && ln -sfn "$tool" "/opt/tools/bin/$(basename "$tool")" ;;
    esac
done
ln -s /usr/bin/bash /opt/tools/bash/bash
[ ! -x /opt/microsoft/powershell/7/pwsh ] || ln -s /opt/microsoft/powershell/7/pwsh /opt/tools/pwsh/pwsh

# The runner's Python is for the runner alone. Perl serves only package scripts, and no package is installed any more.
mv "$(readlink -f /usr/bin/python3)" /opt/fluency/python3
rm -f /usr/bin/python3* /usr/bin/pydoc3* /usr/bin/py3* /usr/bin/pygettext3* /usr/bin/perl*
for tool in /opt/tools/bin/*; do
    # Scripts of the two would only fail in a confusing way.
    if head -c 64 "$tool" 2>/dev/null | head -n 1 | grep -aqE '^#!.*(perl|python)'; then rm -f "$(readlink -f "$tool")" "$tool"; fi
done
/opt/fluency/python3 -I -S -c 'import compileall; compileall.compile_dir("/opt/fluency", quiet=1)'
chown -R 0:0 /opt
chmod 0755 /opt /opt/helper /opt/helper/helper /opt/empty
chmod -R go= /opt/fluency
chmod 0700 /opt/fluency

find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
