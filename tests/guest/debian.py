#!/usr/bin/env python3
"""The Debian image: built, and booted with user data of every format, each with
the certificate authority put in.

    debian.py MUSTER SEED [IMAGE]

Takes some minutes to build and one or two a boot; with IMAGE that one is booted
and none is built.  FORMATS="script jinja" picks some.  How many were seen is
said at the end.
"""

import gzip
import http.server
import json
import os
import subprocess
import threading
import time

from guest import PATIENCE, PRINCIPAL, Guest, Story, muster, seconds_since
from muster import tap

SCRIPT = b"#!/bin/sh\ntouch /root/ran\n"
CA_FILE = "/etc/ssh/muster_ca.pub"

FORMATS = {
    "none": b"",
    "script": SCRIPT,
    "cloud-config": b"""#cloud-config
write_files:
  - path: /root/written
    content: by the user
runcmd:
  - [cp, /root/written, /root/ran]
""",
    "multipart": b"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/cloud-config

#cloud-config
runcmd: [[touch, /root/first]]
--x
Content-Type: text/x-shellscript

#!/bin/sh
touch /root/ran
--x--
""",
    "boothook": b"#cloud-boothook\n#!/bin/sh\ntouch /root/ran\n",
    "include": b"#include\nhttp://10.0.2.2:PORT/script\n",
    "config-archive": b"""#cloud-config-archive
- type: text/cloud-config
  content: |
    runcmd: [[touch, /root/first]]
- type: text/x-shellscript
  content: |
    #!/bin/sh
    touch /root/ran
""",
    "part-handler": b"""#part-handler
def list_types():
    return ["text/x-ours"]


def handle_part(data, ctype, filename, payload):
    if ctype == "__begin__":
        open("/root/ran", "w").close()
""",
    "jinja": b"""## template: jinja
#cloud-config
runcmd: [[sh, -c, "echo {{ v1.local_hostname }} >/root/ran"]]
""",
}
# A message that is packed, as tools like to make it.
FORMATS["gzip"] = gzip.compress(FORMATS["multipart"])
# Nothing is put into this one: it brings the authority itself.
FORMATS["gzip-alone"] = None


def ssh(story, guest, command):
    return guest.ssh(command, story.mine, user="debian",
                     known=story.host.public, certificate=story.certificate)


def serve(content):
    """A server of one file, for includes; its port."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def is_built(image):
    began = time.monotonic()
    temporary = muster.folder()
    done = subprocess.run(
        [muster.binary(), "image", "build", "debian", "--to", image, "-o",
         "json"], env=dict(os.environ, TMPDIR=temporary), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    tap.note(f"built in {seconds_since(began)}")
    if not tap.eq(done.returncode, 0, "the image is built"):
        tap.note(done.stderr)
        return False
    told = json.loads(done.stdout)["spec"]
    tap.eq((told["user"], told["os"]["distro"]), ("debian", "debian"),
           "what is in it is told")
    tap.eq(os.listdir(temporary), [], "nothing is left in the temporary folder")
    tap.note(f"{os.path.getsize(image) >> 20} MiB")
    return True


def is_a_debian(story, guest, name):
    """What is the same whatever the user data."""
    tap.eq(ssh(story, guest, "hostname; id -un; sudo id -u"),
           (0, f"{name}\ndebian\n0\n"), f"{name}: its user is root when asked")
    status, text = ssh(story, guest, "df --output=size / | tail -1")
    tap.ok(status == 0 and int(text) > 4500000,
           f"{name}: the file system is as large as the disk", text)
    tap.eq(guest.agent("guest-ping"), {}, f"{name}: the guest agent answers")
    tap.ok(guest.says(f"{name} login: "), f"{name}: there is a login prompt",
           guest.said()[-2000:])


def own_authority(story):
    """A script of a user who puts the authority in without us."""
    return f"""#!/bin/sh
echo '{story.ca.public}' >{CA_FILE}
echo '{PRINCIPAL}' >/etc/ssh/principals
echo 'TrustedUserCAKeys {CA_FILE}
AuthorizedPrincipalsFile /etc/ssh/principals' >/etc/ssh/sshd_config.d/ca.conf
systemctl reload ssh
touch /root/ran
""".encode()


def boots(story, image, name, data):
    began = time.monotonic()
    guest = Guest(image, memory=512, disk="5G")
    # The one without anything has an address that is known, too.
    guest.start(story.seed(name, data, extras=name != "gzip-alone",
                           address="10.0.2.15" if name == "none" else ""))
    tap.ok(guest.greets(), f"{name}: its SSH server answers",
           guest.said()[-2000:])
    status, text = muster.wait_for(
        lambda: (lambda r: r if r[0] != 255 else None)(
            ssh(story, guest, "cloud-init status --wait")),
        2 * PATIENCE, 2) or (255, "")
    tap.ok(status == 0 and "done" in text,
           f"{name}: a certificate logs in, cloud-init is done", text,
           guest.said()[-2000:])
    tap.note(f"{name}: after {seconds_since(began)}")
    tap.eq(ssh(story, guest, f"cat {CA_FILE}"), (0, story.ca.public + "\n"),
           f"{name}: the authority is in it")
    tap.eq(ssh(story, guest, "sudo grep WARN /var/log/cloud-init.log"), (1, ""),
           f"{name}: cloud-init warns of nothing")
    if name == "none":
        is_a_debian(story, guest, name)
    else:
        tap.eq(ssh(story, guest, "sudo ls /root/ran"), (0, "/root/ran\n"),
               f"{name}: the user's own was done")
    did_it_all(story, guest, name)
    tap.ok(guest.press_power(), f"{name}: the power button stops it")


def did_it_all(story, guest, name):
    """What is to be seen of some formats only."""
    if name in ("multipart", "config-archive", "gzip"):
        tap.eq(ssh(story, guest, "sudo ls /root/first"), (0, "/root/first\n"),
               f"{name}: and what its other part says")
    if name == "cloud-config":
        tap.eq(ssh(story, guest, "sudo cat /root/written"),
               (0, "by the user"), "files of both were written")
    if name == "jinja":
        tap.eq(ssh(story, guest, "sudo cat /root/ran"), (0, "jinja\n"),
               "the template was filled in")


def main():
    image = (os.path.abspath(muster.sys.argv[3]) if len(muster.sys.argv) > 3
             else os.path.join(muster.folder(), "debian.qcow2"))
    if os.path.exists(image) or is_built(image):
        story = Story()
        port = str(serve(SCRIPT)).encode()
        picked = os.environ.get("FORMATS", "").split() or FORMATS
        good = 0
        for name in picked:
            failed = tap.failed
            data = (gzip.compress(own_authority(story))
                    if name == "gzip-alone"
                    else FORMATS[name].replace(b"PORT", port))
            tap.section(boots, story, image, name, data)
            good += tap.failed == failed
        tap.note(f"{good} of {len(picked)} formats, "
                 f"{tap.n - tap.failed} of {tap.n} checks")
    tap.end()


main()
