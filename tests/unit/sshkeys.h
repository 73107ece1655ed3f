/* sshkeys - public keys of every type, made with ssh-keygen, for tests. */
#pragma once

#define KEY_ED25519                                                            \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN6XDWTaq3qvUUK+Ryeaiqgi"         \
	"wVmKVyprPyGYSM0XMIsQ me@host"
#define FINGERPRINT_ED25519 "SHA256:8w8GwkWJ6ZQCOW71Q3bjpMOXUwmEQIjpZJpPyNlGmBc"

#define KEY_ECDSA_256                                                          \
	"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlz"         \
	"dHAyNTYAAABBBL2OVpoBtykmYKCj371/xbMeN83k0paI9/QQc2qwCeoPUZV5"         \
	"/n2d9dGeIqoT0WX3pG3VVjN6EVWbKJyJI45LEkI= me@host"
#define FINGERPRINT_ECDSA_256                                                  \
	"SHA256:6dyIH3PNVJeHir10KA4gQ7AWkJh9pQYKN6nmSIA9EPY"

#define KEY_ECDSA_384                                                          \
	"ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlz"         \
	"dHAzODQAAABhBEfqCgiD6lY/hNNPOgNhTK7An+b5B1J4EWyC6Lh15gg7TnCG"         \
	"TS4NgGbSduG5I4C0KRPjfJa0mV3Jz7O4I5z96gFnQN1yeS7gGv/CzmtT0cLC"         \
	"KHM103iqi/spFPx658g7MQ== me@host"
#define FINGERPRINT_ECDSA_384                                                  \
	"SHA256:yjmsE+PJwn8BvV0Qmi0oXw13WMBTLjDz56DfcWsRGMM"

#define KEY_ECDSA_521                                                          \
	"ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlz"         \
	"dHA1MjEAAACFBADGGBKuj7x4kHA1iPyVXxoD2RgR0I8ULibFyGfEphUaQxvp"         \
	"X3Pt/W3iva0n0LbAC32Fxazpz7doRJ9GwgksFY88ewD+SpIjJhN1daN5RTjU"         \
	"xZe8NjPt9r99c/ch49dV/Rs4UiXlLk+Qy8fKBIseHmwL2aoreNmS1fKdFo0K"         \
	"2dW0om0l4g== me@host"
#define FINGERPRINT_ECDSA_521                                                  \
	"SHA256:M/ABaoXYIOG75gf7LAB+mVgJmUIy23C+iCwA+T2A3c8"

#define KEY_RSA_2048                                                           \
	"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDqhtOPWVJBj/D78JkDWyGQ"         \
	"w8W/SXIgfkBxJJvGm/3i1KJ1uvMys6alhLNCPLBO+4XwzOrQaq96B//qVSWP"         \
	"CbowgdUD/gy0X8B8jvx1GR5oz2yJJ5gz12Hw67/+mb/8qpW6YvmVjzVKvJHH"         \
	"UiTFPOmVMknVOGPSSqknLrrM3QqNNuPo/GI9Z2g7w+VCCWc+77kK3WzHOSks"         \
	"mqwk7inQ/R2HsPtmUb10u5IKfb8nOtxYp3I3Wxx5KA7phO5v85kMO9pzI4Dh"         \
	"KddZ5H10KS3oknqLJ2YIKkXIv2I4aawiSU5FyX1Qlc+WwG+uo7MD9aBlVv6B"         \
	"Yefqgl6jC/S0SwNIwpv3 me@host"
#define FINGERPRINT_RSA_2048                                                   \
	"SHA256:M48zSUDUgrkJ9XUo24l2Ng0CPLGxTLpShQQaWV/H+uE"

#define KEY_RSA_1024                                                           \
	"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC/vmTrKbeAeKMbxg3ajgzU"         \
	"R8gcjAUWr/I4eymfpk07d5WKPB59Gi6dJzdUXD3lcxMT+VMKgpoCsoidkmy8"         \
	"Hll8b3BUmVFdNfcjJ54w4Q6yGXl/StvoYlh8tneZynteYENOwer2ZMBJyk7H"         \
	"ndGi5mtMETzGF4v7YF3TTny0faOkYw== me@host"
#define FINGERPRINT_RSA_1024                                                   \
	"SHA256:MGXHpiiRWBNPrQcbGZieXK2ROqmtHd8cZs8qzCgGg4M"

#define KEY_DSA                                                                \
	"ssh-dss AAAAB3NzaC1kc3MAAACBAJohRxTFIeNwUwmSsZdVhs8Lg6E7d3PC"         \
	"p+l/RGG6lUOWLeUBEgz+ABOAPIpmBuqkBmgQQREu1zcmZvmkFW+yu3RmPF7S"         \
	"PHi1cxy54ib1ZNKvQjMGXq2hg4DDHMEfbcFIWKiSUQDTuClAwng2uf1A+O7s"         \
	"vjz6VZ8uTf0l3k93E+ujAAAAFQCZS/sHZw9IG9m3SKIupXAFju3GaQAAAIAD"         \
	"TyMgMHYcO4OrcPpJ8SrK+bCnba9wRY2pBOOTigGcg5pYOUqckoEQOpCUpmoB"         \
	"AFGbCWySmwyiaBvfKFHjqARl5LHIT8BlITNFKephfH0Gv5FHiiyrdxP9/IMB"         \
	"mLDEyxGpIBc1RSfIc5snB33SFgIYzbMyjOueE3rlZbq1B4JXwwAAAIBLSv5R"         \
	"Jzxn3oyceDHIBg3BOpI6ya5kGjr8AlIUl9YrApeHXSdpdrhRfMApe3XnwrvJ"         \
	"LNbVw5itEpBhr1DODGq80MjGeO3DLXExcl1Yjefbk8Uqk0tqYxFxBubydS8J"         \
	"EXGr3EoSKPx9QbwwR52YAswjSXd1lUeevZueVTIdO+fpVw== root@vm"

#define KEY_SK_ECDSA                                                           \
	"sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNhLXNoYTItb"         \
	"mlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBL2OVpoBtykmY"         \
	"KCj371/xbMeN83k0paI9/QQc2qwCeoPUZV5/n2d9dGeIqoT0WX3pG3VVjN6E"         \
	"VWbKJyJI45LEkIAAAAEc3NoOg== key"
#define FINGERPRINT_SK_ECDSA                                                   \
	"SHA256:sqznH73LOeBrMHJdUtdjU4BxNcrjFfEKuo81dPCy6FM"

#define KEY_SK_ED25519                                                         \
	"sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc"         \
	"2guY29tAAAAIN6XDWTaq3qvUUK+RyeaiqgiwVmKVyprPyGYSM0XMIsQAAAAB"         \
	"HNzaDo= key"
#define FINGERPRINT_SK_ED25519                                                 \
	"SHA256:jFipI6Sd2G/RLLGOD34YNUwnNE0/buQpknB255YjffA"
