#!/usr/bin/env python3
"""The tiny image: built, booted, told by a seed who may log in, and stopped.

    tiny.py MUSTER SEED
"""

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time

from guest import Guest, Key, Story, call, muster, seconds_since
from muster import tap

SHARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                     "share", "images", "tiny")


def awk(program, text):
    """What a script of the guest makes of TEXT: files and their contents."""
    folder = muster.folder()
    call("busybox", "awk", "-v", f"dir={folder}", "-f",
         os.path.join(SHARE, program), data=text.encode())
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8",
                  newline="") as file:
            found[name] = file.read()
    return found


def takes_json_apart():
    hard = {"quotes": 'a "b" \\" c\\', "lines": "one\ntwo\t\r\n", "empty": "",
            "braces": "{[,:]}", "letters": "gr\u00fc\u00df \u20ac",
            "bell": "\x07", "zero": 0, "no": False, "none": None,
            "list": [["a b", "c"], "d", {"e": "f"}], "nothing": [],
            "../up": "x"}
    want = {"quotes": hard["quotes"], "lines": hard["lines"], "empty": "",
            "braces": hard["braces"], "letters": hard["letters"],
            "bell": "\x07", "zero": "0", "no": "false",
            "list.0.0": "a b", "list.0.1": "c", "list.1": "d",
            "list.2.e": "f", "___up": "x"}
    for indent in (None, 2):
        tap.eq(awk("json.awk", json.dumps(hard, indent=indent)), want,
               f"JSON is taken apart, indent {indent}")
    tap.eq(awk("json.awk", json.dumps(hard, ensure_ascii=False))["letters"],
           hard["letters"], "letters that are not escaped stay")


def takes_messages_apart():
    text = """MIME-Version: 1.0
Content-Type: multipart/mixed;
 boundary="outer; one"

this is for whoever reads mail
--outer; one
Content-Type: Text/X-ShellScript; charset="utf-8"
Content-Transfer-Encoding: Base64

IyEvYmluL3No
--outer; one
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain

#!/bin/sh
--not a boundary
--inner--
--outer; one

no type
--outer; one--
and nothing more
"""
    want = {"001.type": "text/x-shellscript\n", "001.encoding": "base64\n",
            "001.body": "IyEvYmluL3No\n",
            "002.type": "text/plain\n", "002.encoding": "\n",
            "002.body": "#!/bin/sh\n--not a boundary\n",
            "003.type": "\n", "003.encoding": "\n", "003.body": "no type\n"}
    tap.eq(awk("mime.awk", text), want, "a message is taken apart")
    tap.eq(awk("mime.awk", text.replace("\n", "\r\n")), want,
           "and one with other line ends")


def is_built(image):
    temporary = muster.folder()
    done = subprocess.run(
        [muster.binary(), "image", "build", "tiny", "--to", image, "-o",
         "json"], env=dict(os.environ, TMPDIR=temporary), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        timeout=400)
    if not tap.eq(done.returncode, 0, "the image is built"):
        tap.note(done.stderr)
        return False
    told = json.loads(done.stdout)
    with open(image, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    tap.eq(told["spec"]["checksum"], "sha256:" + digest, "its checksum is told")
    tap.eq(told["sizeBytes"], os.path.getsize(image), "its size is told")
    tap.eq((told["spec"]["user"], told["spec"]["architecture"]),
           ("root", "x86_64"), "who logs in is told, and on what it runs")
    tap.ok("Making the disk" in done.stderr, "the steps are told")
    tap.eq(os.listdir(temporary), [], "nothing is left in the temporary folder")
    tap.eq(os.listdir(os.path.dirname(image)), [os.path.basename(image)],
           "nor beside the image")
    return True


def is_not_built():
    """Wrong words and places are told."""
    for argv, words in (
            (["tony"], "'tiny' and 'debian' can be built"),
            (["tiny", "--to", "/nowhere/at/all"], "/nowhere/at/all"),
            (["tiny", "--region", "local", "--to", "x"], "not to both"),
            (["tiny", "--region", "local"], "say whose with --project"),
            (["tiny", "--project", "web"], "say which with --region"),
            (["tiny", "--to", "x", "--name", "mine"],
             "say which with --region"),
            (["tiny", "--region", "local", "--project", "web", "--data",
              "/nowhere"], "/nowhere/import")):
        status, text = muster.run("image", "build", *argv)
        tap.ok(status and words in text, f"{argv} is refused", text)
        tap.ok("..." not in text, "before anything was done", text)


def start_build(path, **more):
    """`muster image build tiny`, with programs of ours on its way."""
    temporary, place = muster.folder(), muster.folder()
    return temporary, place, subprocess.Popen(
        [muster.binary(), "image", "build", "tiny", "--to",
         os.path.join(place, "tiny")], text=True, stdin=subprocess.DEVNULL,
        env=dict(os.environ, TMPDIR=temporary, PATH=path),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def left(temporary, place):
    return os.listdir(temporary) + os.listdir(place)


def fails_well():
    """What is missing is told, and what failed; nothing is left of it."""
    few = muster.folder()
    for name in ("sh", "apt-get", "dpkg", "dpkg-deb", "id"):
        os.symlink(shutil.which(name), os.path.join(few, name))
    temporary, place, build = start_build(few)
    said, _ = build.communicate(timeout=400)
    # The scripts look in /sbin, too, as users often do not.
    tap.ok(build.returncode == 1 and "apt-get install" in said
           and "qemu-utils" in said, "what to install is told", said)
    tap.eq(left(temporary, place), [], "and nothing is left")
    broken = muster.folder()
    with open(os.path.join(broken, "depmod"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho out of luck >&2\nexit 1\n")
    os.chmod(os.path.join(broken, "depmod"), 0o755)
    temporary, place, build = start_build(broken + ":" + os.environ["PATH"])
    said, _ = build.communicate(timeout=400)
    tap.ok(build.returncode == 1 and "  out of luck\n" in said,
           "what programs say is told when one fails", said)
    tap.eq(left(temporary, place), [], "and nothing is left of that")


def is_interrupted():
    temporary, place, build = start_build(os.environ["PATH"])
    build.stdout.readline()
    tap.ok(left(temporary, place), "it has begun")
    build.send_signal(signal.SIGINT)
    tap.eq(build.wait(400), -signal.SIGINT, "Ctrl-C ends it")
    tap.eq(left(temporary, place), [], "and nothing is left")


USER_DATA = b"""Content-Type: multipart/mixed; boundary="x"
MIME-Version: 1.0

--x
Content-Type: text/cloud-boothook

#cloud-boothook
#!/bin/sh
echo hook >>/root/hooks
--x
Content-Type: text/x-shellscript

#!/bin/sh
echo script >>/root/scripts
echo "the script says $(hostname)"
ip route | grep -q default && echo online >>/root/scripts
--x
Content-Type: text/cloud-config

#cloud-config
a: [yaml, which, is, not, read]
--x
Content-Type: text/jinja2

## template: jinja
--x--
"""


def boots(story, image):
    guest = Guest(image)
    began = time.monotonic()
    guest.start(story.seed("tiny-1", USER_DATA, address="10.0.2.15"))
    known = story.host.public
    tap.ok(guest.says("tiny-1 login: "), "the console has a login prompt",
           guest.said())
    tap.note(f"login prompt after {seconds_since(began)}")
    tap.ok(guest.greets(), "its SSH server answers", guest.said())
    status, text = guest.ssh("hostname; id -u", story.mine, known=known,
                             certificate=story.certificate)
    tap.note(f"logged in after {seconds_since(began)}")
    tap.eq((status, text), (0, "tiny-1\n0\n"),
           "a certificate of the authority logs in, the host key is known")
    others_are_refused(story, guest, known)
    tap.eq(guest.ssh("true", story.plain, known=known), (0, ""),
           "a key logs in")
    did_what_it_was_told(story, guest, known)
    tap.eq(guest.agent("guest-ping"), {}, "the guest agent answers")
    tap.ok(guest.press_power(), "the power button stops it", guest.said())
    return guest


def others_are_refused(story, guest, known):
    for authority, principal, text in (
            (story.ca, "another-project", "of another project"),
            (story.other_ca, "the-project", "of another authority")):
        certificate = authority.certify(story.mine, principal)
        status, said = guest.ssh("true", story.mine, known=known,
                                 certificate=certificate)
        tap.ok(status == 255 and "Permission denied" in said,
               f"a certificate {text} is refused", said)
    status, said = guest.ssh("true", story.plain,
                             known=story.other_ca.public)
    tap.ok(status == 255 and "verification failed" in said.lower(),
           "another host key is not believed", said)


def did_what_it_was_told(story, guest, known):
    tap.ok(guest.says("first-boot: done$"), "it says when it is done",
           guest.said())
    tap.ok(guest.says("the script says tiny-1$"), "what scripts say is seen")
    tap.ok(guest.says("taken as JSON only") and
           guest.says("text/jinja2 is not read"), "so is what it cannot read",
           guest.said())
    tap.eq(guest.ssh("cat /root/hooks /root/scripts", story.plain,
                     known=known), (0, "hook\nscript\nonline\n"),
           "hooks and scripts were run")


def boots_again(story, guest):
    """The same disk: as the same machine, then as another's, whose seed is on
    a CD; now by DHCP."""
    known = story.host.public
    for name, want in (("tiny-1", "hook\nhook\nscript\nonline\n"),
                       ("tiny-2", "hook\nhook\nhook\nscript\nonline\n"
                        "script\nonline\n")):
        if name == "tiny-2":
            story.host = Key(story.folder, "host-2")
            known = story.host.public
        guest.start(story.seed(name, USER_DATA), cd=name == "tiny-2")
        tap.ok(guest.says(f"{name} login: "), f"{name} boots", guest.said())
        if name == "tiny-2":
            guest.says("first-boot: done$")
        guest.greets()
        tap.eq(guest.ssh("cat /root/hooks /root/scripts", story.plain,
                         known=known), (0, want),
               f"scripts are run once for an instance: {name}")
        tap.ok(guest.press_power(), "and it stops")


def unpacks(story, guest):
    """What is packed, with nothing put in, so that nobody can look inside."""
    guest.start(story.seed("tiny-3", gzip.compress(USER_DATA), extras=False))
    tap.ok(guest.says("tiny-3 login: "), "with what is packed it comes up",
           guest.said())
    tap.ok("\nthe script says tiny-3\n" in guest.said(), "and does what that says",
           guest.said())


def main():
    image = os.path.join(muster.folder(), "tiny.qcow2")
    tap.section(takes_json_apart)
    tap.section(takes_messages_apart)
    tap.section(is_not_built)
    tap.section(fails_well)
    tap.section(is_interrupted)
    if is_built(image):
        story = Story()
        guest = boots(story, image)
        boots_again(story, guest)
        unpacks(story, guest)
    tap.end()


main()
