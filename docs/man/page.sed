# Finishes a man page that lowdown made.

# Neither hyphenate nor justify: options and paths stay whole. groff's paragraph macros set
# hyphenation again from the register HY.
/^\.TH /a\
.nr HY 0\
.nh\
.ad l

# A heading is not followed by a paragraph macro; mandoc warns about one.
:heading
/^\.S[HS]$/{
    n
    n
    /^\.LP$/d
    b heading
}

# In text, a hyphen becomes a minus sign, so that options can be copied from the page, the
# typewriter font becomes bold, which every terminal has, and characters become ASCII.
/^\./!s/-/\\-/g
s/\\fC/\\fB/g
s/…/.../g
